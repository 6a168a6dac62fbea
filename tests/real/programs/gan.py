"""A DCGAN: generator and discriminator take turns."""

import torch
import truth
from torch import nn


def up(a, b):
    return nn.Sequential(nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True))


def down(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, True))


first, last = nn.ConvTranspose2d(100, 512, 4), nn.ConvTranspose2d(64, 3, 4, 2, 1)
make = nn.Sequential(first, up(512, 256), up(256, 128), up(128, 64), last, nn.Tanh()).cuda()
judge = nn.Sequential(down(3, 64), down(64, 128), down(128, 256), down(256, 512), nn.Conv2d(512, 1, 4), nn.Flatten()).cuda()
of_make, of_judge = (torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (make, judge))
loss = nn.BCEWithLogitsLoss()
real, one, zero = torch.randn(128, 3, 64, 64, device="cuda"), torch.ones(128, 1, device="cuda"), torch.zeros(128, 1, device="cuda")
for step in range(3):
    of_judge.zero_grad()
    fake = make(torch.randn(128, 100, 1, 1, device="cuda"))
    assert fake.shape == real.shape
    (loss(judge(real), one) + loss(judge(fake.detach()), zero)).backward()
    of_judge.step()
    of_make.zero_grad()
    loss(judge(fake), one).backward()
    of_make.step()
truth.torch_peaks()
