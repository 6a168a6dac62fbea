"""Lightning: Trainer.fit with mixed precision, a validation loop, and a checkpoint; with --world DDP."""

import os

import lightning
import torch
import truth
from torch.utils.data import DataLoader, TensorDataset


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 4096), torch.nn.GELU(),
                                       torch.nn.Linear(4096, 1024))

    def training_step(self, batch, index):
        loss = (self.net(batch[0]) - batch[0]).square().mean()
        self.log("loss", loss, sync_dist=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", (self.net(batch[0]) - batch[0]).square().mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


world = int(os.environ.get("WORLD_SIZE", 1))
data = DataLoader(TensorDataset(torch.randn(64 * world, 1024)), batch_size=16)
trainer = lightning.Trainer(accelerator="gpu", devices=world if world > 1 else 1, strategy="ddp" if world > 1 else "auto", max_epochs=1,
                            precision="bf16-mixed", logger=False, enable_progress_bar=False)
trainer.fit(Module(), data, data)
truth.torch_peaks("lightning")
