export FROM_LIBRARY=yes
start() { srun --chdir=/data/run --export=NONE,KEEP=1 /opt/venv/bin/python -u main.py; }
