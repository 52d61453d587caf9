import gymnasium as gym
import numpy as np

from agent import Agent
from memory import ReplayMemory

env = gym.make("HalfCheetah-v4")
agent = Agent(env.observation_space.shape[0], env.action_space.shape[0], float(env.action_space.high[0]))
memory = ReplayMemory(1_000_000)
scores = []
for episode in range(1000):
    obs, _ = env.reset()
    done, score = False, 0.0
    while not done:
        action = agent.choose_action(obs)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        memory.push(obs, action, reward, next_obs, terminated)
        if len(memory) > 10_000:
            agent.learn(memory)
        obs = next_obs
        score += reward
    scores.append(score)
    print(episode, score, np.mean(scores[-100:]))
