#!/bin/bash
for size in 1 2; do
  sbatch --parsable --nodes=$size <<EOF
#!/bin/bash
#SBATCH --job-name=size-$size --ntasks-per-node=1
srun python scale.py --nodes \$SLURM_NNODES
EOF
done
sbatch --wrap "srun hostname" --job-name=wrapped
