"""Reinforcement learning: PPO with environments of gymnasium on the host and the policy on the GPU."""

import gymnasium
import torch
import truth

STEPS, COUNT = 64, 8
environments = gymnasium.make_vec("CartPole-v1", num_envs=COUNT)
body = torch.nn.Sequential(torch.nn.Linear(4, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Tanh()).cuda()
policy, value = torch.nn.Linear(512, 2).cuda(), torch.nn.Linear(512, 1).cuda()
optimizer = torch.optim.Adam([*body.parameters(), *policy.parameters(), *value.parameters()], lr=3e-4)
seen, _ = environments.reset(seed=0)
for update in range(2):
    states, actions, chances, rewards, values = (torch.zeros(STEPS, COUNT, *size, device="cuda") for size in ((4,), (), (), (), ()))
    for step in range(STEPS):
        states[step] = torch.as_tensor(seen).cuda()
        with torch.no_grad():
            hidden = body(states[step])
            choice = torch.distributions.Categorical(logits=policy(hidden), validate_args=False)
            action = choice.sample()
        actions[step], chances[step], values[step] = action, choice.log_prob(action), value(hidden).squeeze(-1)
        seen, reward, ended, cut, _ = environments.step(action.cpu().numpy())
        rewards[step] = torch.as_tensor(reward).cuda()
    values = values.detach()
    advantage = rewards.flip(0).cumsum(0).flip(0) - values
    for epoch in range(4):
        hidden = body(states)
        choice = torch.distributions.Categorical(logits=policy(hidden), validate_args=False)
        ratio = (choice.log_prob(actions) - chances).exp()
        clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        loss = -clipped.mean() + (value(hidden).squeeze(-1) - values - advantage).square().mean() - 0.01 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body.parameters(), *policy.parameters(), *value.parameters()], 0.5)
        optimizer.step()
truth.torch_peaks("gymnasium")
