export FROM_LIBRARY=yes
start() { srun --chdir=/work/dir --export=NONE,KEEP=1 /opt/venv/bin/python -u main.py; }
