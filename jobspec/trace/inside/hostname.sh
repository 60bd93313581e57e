#!/bin/sh
# A task's node has its name, and the address that /etc/hosts gives it.
name=${SLURMD_NODENAME:-login}
case $1 in
  -i | -I | --ip-address | --all-ip-addresses)
    while read -r address known; do
      if [ "$known" = "$name" ]; then echo "$address"; fi
    done </etc/hosts
    ;;
  *) echo "$name" ;;
esac
