def mine():
    config = Trainer.Config(training=TrainingConfig(max_context_length=8 * 1024), activation_checkpoint=None)
    config.parallelism.module_fqns_per_model_part = [["layers.0"], ["layers.1", "layers.2"]]
    config.parallelism.pipeline_parallel_degree = 2
    return config
