"""PyTorch Geometric: a graph attention network on a random graph."""

import torch
import truth
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool

NODES, EDGES = 50_000, 400_000


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GATConv(128, 64, heads=4), GCNConv(256, 256)
        self.head = torch.nn.Linear(256, 40)

    def forward(self, data):
        x = torch.relu(self.first(data.x, data.edge_index))
        x = torch.relu(self.second(x, data.edge_index))
        return self.head(global_mean_pool(x, data.batch, size=64))


data = Data(x=torch.randn(NODES, 128), edge_index=torch.randint(NODES, (2, EDGES)))
data.batch = torch.arange(NODES) * 64 // NODES
data, model = data.to("cuda"), Net().cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    model(data).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks("torch_geometric")
