NGPU=8 MODULE=llama3 CONFIG=llama3_8b ./run_train.sh --training.max_context_length=8_192 \
 --parallelism.no-enable-sequence-parallel activation-checkpoint:full
