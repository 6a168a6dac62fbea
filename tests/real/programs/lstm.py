"""A language model with an LSTM by cuDNN, packed sequences, and truncated backpropagation."""

import torch
import truth
from torch import nn

words, rnn = nn.Embedding(10000, 512).cuda(), nn.LSTM(512, 1024, 2, batch_first=True, dropout=0.2).cuda()
head = nn.Linear(1024, 10000).cuda()
optimizer = torch.optim.Adagrad([*words.parameters(), *rnn.parameters(), *head.parameters()])
state = None
for step in range(3):
    out, state = rnn(words(torch.randint(10000, (32, 70)).cuda()), state)
    state = tuple(part.detach() for part in state)
    nn.functional.cross_entropy(head(out).flatten(0, 1), torch.zeros(32 * 70, dtype=torch.long, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
packed = nn.utils.rnn.pack_padded_sequence(words(torch.randint(10000, (8, 70)).cuda()), torch.arange(70, 62, -1), batch_first=True)
rnn(packed)
truth.torch_peaks()
