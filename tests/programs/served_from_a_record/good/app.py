import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass

import torch
from fastapi import FastAPI
from pydantic import BaseModel

from lm import CausalLM, Tokenizer


@dataclass
class Resources:
    model: CausalLM
    tokenizer: Tokenizer
    pool: ThreadPoolExecutor


class Prompt(BaseModel):
    text: str
    max_new_tokens: int = 64


@asynccontextmanager
async def lifespan(app: FastAPI):
    model = CausalLM.from_checkpoint("weights.pt").to("cuda").eval()
    app.state.res = Resources(model, Tokenizer(), ThreadPoolExecutor(1))
    yield
    app.state.res.pool.shutdown()


app = FastAPI(lifespan=lifespan)


@torch.inference_mode()
def generate(res: Resources, prompt: Prompt) -> str:
    ids = res.tokenizer.encode(prompt.text).to("cuda")
    past = None
    for _ in range(prompt.max_new_tokens):
        step_ids = ids if past is None else ids[:, -1:]
        logits, past = res.model(step_ids, past)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return res.tokenizer.decode(ids[0].tolist())


@app.post("/generate")
async def endpoint(prompt: Prompt):
    loop = asyncio.get_running_loop()
    res = app.state.res
    text = await loop.run_in_executor(res.pool, generate, res, prompt)
    return {"text": text}
