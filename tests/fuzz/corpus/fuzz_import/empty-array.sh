args=()
pretrain_gpt.py --tp 3
