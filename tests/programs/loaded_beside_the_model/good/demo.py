import argparse
import contextlib
import time
from pathlib import Path

import torch

from model import MapStream


def build_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser()
    p.add_argument("--model_path", type=Path, required=True)
    p.add_argument("--frames", type=Path, required=True)
    p.add_argument("--use_sdpa", action="store_true")
    return p


def load_model(args, device: torch.device) -> MapStream:
    model = MapStream(dim=1024, depth=24, sdpa=args.use_sdpa)
    if args.model_path:
        print(f"Loading checkpoint: {args.model_path}")
        ckpt = torch.load(args.model_path, map_location="cpu", weights_only=False, mmap=True)
        state_dict = ckpt.get("model", ckpt)
        missing, unexpected = model.load_state_dict(state_dict, strict=False)
        print(f"  missing {len(missing)} unexpected {len(unexpected)}")
    return model.to(device).eval()


def main():
    args = build_parser().parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load_model(args, device)
    cast = torch.autocast("cuda", dtype=torch.bfloat16) if device.type == "cuda" else contextlib.nullcontext()
    frames = torch.load(args.frames, map_location="cpu")
    start = time.time()
    with torch.inference_mode(), cast:
        for index, frame in enumerate(frames):
            pose = model.step(frame.to(device))
            print(index, pose.float().cpu().tolist())
    print(f"{len(frames) / (time.time() - start):.1f} it/s")


if __name__ == "__main__":
    main()
