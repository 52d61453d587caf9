"""Pipelines of diffusers turn grad off themselves: the pictures that they give carry no graph."""

from diffusers import DiffusionPipeline, DPMSolverMultistepScheduler
import numpy as np
import torch


def validate(args, accelerator, unet, text_encoder, epoch):
    pipeline = DiffusionPipeline.from_pretrained(args.name, safety_checker=None, revision=args.revision)
    pipeline.unet = accelerator.unwrap_model(unet)
    pipeline.text_encoder = accelerator.unwrap_model(text_encoder)
    pipeline.scheduler = DPMSolverMultistepScheduler.from_config(pipeline.scheduler.config)
    pipeline = pipeline.to(accelerator.device)
    pipeline.set_progress_bar_config(disable=True)
    images = []
    for _ in range(args.num_validation_images):
        image = pipeline(args.validation_prompt, num_inference_steps=25).images[0]
        images.append(image)
    for tracker in accelerator.trackers:
        if tracker.name == "tensorboard":
            np_images = np.stack([np.asarray(img) for img in images])
            tracker.writer.add_images("validation", np_images, epoch, dataformats="NHWC")
    del pipeline
    torch.cuda.empty_cache()
