import torch
from torch import nn
from torch.distributions import Categorical

from storage import Rollout, Transition


class ActorCritic(nn.Module):
    def __init__(self, obs_dim: int, actions: int, hidden: int = 512):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class PPO:
    def __init__(self, net: ActorCritic, device="cuda", horizon=2048, epochs=4, clip=0.2):
        self.net = net.to(device)
        self.device = device
        self.horizon, self.epochs, self.clip = horizon, epochs, clip
        self.opt = torch.optim.Adam(net.parameters(), lr=3e-4, fused=True)
        self.rollout = Rollout()

    def act(self, obs):
        dist, value = self.net(obs)
        action = dist.sample()
        return action, dist.log_prob(action), value

    def collect(self, env):
        obs = torch.as_tensor(env.reset(), device=self.device)
        while len(self.rollout) < self.horizon:
            action, log_prob, value = self.act(obs)
            nxt, reward, done, _ = env.step(action.item())
            self.rollout.push(Transition(obs, action, log_prob, value, reward, done))  # expect: TML101
            obs = torch.as_tensor(env.reset() if done else nxt, device=self.device)

    def update(self):
        obs, actions = self.rollout.column("obs"), self.rollout.column("action")
        old = self.rollout.column("log_prob")
        returns = self.rollout.rewards(0.99, self.device)
        advantage = returns - self.rollout.column("value")
        for _ in range(self.epochs):
            dist, value = self.net(obs)
            ratio = (dist.log_prob(actions) - old).exp()
            surrogate = torch.min(ratio * advantage, ratio.clamp(1 - self.clip, 1 + self.clip) * advantage)
            loss = -surrogate.mean() + 0.5 * (value - returns).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.rollout.clear()

    def learn(self, env, updates: int):
        for _ in range(updates):
            self.collect(env)
            self.update()
