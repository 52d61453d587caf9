import torch
import torch.nn.functional as F

from networks import Actor, Critic, make_target


class Agent:
    def __init__(self, obs_dim, act_dim, max_action, gamma=0.99, tau=0.005, lr=1e-3, device="cuda"):
        self.actor = Actor(obs_dim, act_dim, max_action).to(device)
        self.critic = Critic(obs_dim, act_dim).to(device)
        self.target_actor = make_target(self.actor)
        self.target_critic = make_target(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr)
        self.gamma, self.tau, self.max_action, self.device = gamma, tau, max_action, device
        self.it = 0

    def choose_action(self, obs):
        obs = torch.as_tensor(obs, dtype=torch.float32, device=self.device).unsqueeze(0)
        with torch.no_grad():
            return self.actor(obs).cpu().numpy()[0]

    def bootstrap(self, reward, next_obs, done):
        noise = (torch.randn(next_obs.shape[0], 1, device=self.device) * 0.2).clamp(-0.5, 0.5)
        with torch.no_grad():
            next_action = (self.target_actor(next_obs) + noise).clamp(-self.max_action, self.max_action)
            q1, q2 = self.target_critic(next_obs, next_action)
        return reward + self.gamma * (1 - done) * torch.min(q1, q2)

    def learn(self, memory, batch_size=256):
        self.it += 1
        obs, action, reward, next_obs, done = memory.sample(batch_size, self.device)
        target = self.bootstrap(reward, next_obs, done)
        q1, q2 = self.critic(obs, action)
        critic_loss = F.mse_loss(q1, target.detach()) + F.mse_loss(q2, target.detach())
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        if self.it % 2:
            return critic_loss.item(), None
        actor_loss = -self.critic(obs, self.actor(obs))[0].mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        self.update_targets()
        return critic_loss.item(), actor_loss.item()

    def update_targets(self):
        for net, target in ((self.actor, self.target_actor), (self.critic, self.target_critic)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.mul_(1 - self.tau).add_(self.tau * p.data)
