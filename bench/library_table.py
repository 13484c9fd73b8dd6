"""The models of library_models.py: how each is made at a small configuration, and what it is called with."""

import dataclasses


@dataclasses.dataclass
class Entry:
    """`make` is the expression of the model and `result` that of forward. `inputs` is name -> expression.
    `refused` says why the model cannot be a Program."""
    make: str
    inputs: dict
    result: str
    refused: str = ""


IDS = "torch.randint(3, 99, (2, 16))"
FEW_IDS = "torch.randint(3, 99, (2, 8))"
TIMES = "torch.randint(0, 1000, (2,))"
SMALL_IMAGE = "torch.randn(2, 3, 32, 32)"
LATENT = "torch.randn(2, 4, 8, 8)"


def ids(make, result="self.model(ids).last_hidden_state", refused=""):
    """A model of token ids."""
    return Entry(make, {"ids": IDS}, result, refused)


def decoder(make, refused=""):
    """A language model."""
    return ids(make, "self.model(ids).logits", refused)


def pair(make, result="last_hidden_state"):
    """An encoder and a decoder of token ids."""
    return Entry(make, {"ids": IDS, "decoder_ids": FEW_IDS},
                 f"self.model(input_ids=ids, decoder_input_ids=decoder_ids).{result}")


def image(make, result="self.model(x)", size=64, channels=3, refused=""):
    """A model of images."""
    return Entry(make, {"x": f"torch.randn(2, {channels}, {size}, {size})"}, result, refused)


def hidden(make, size=64):
    """A model of images, of which the last hidden state is taken."""
    return image(make, "self.model(x).last_hidden_state", size)


def sound(make, shape="2, 4000"):
    """A model of sounds."""
    return Entry(make, {"x": f"torch.randn({shape})"}, "self.model(x).last_hidden_state")


def text_and_image(make, result, refused=""):
    """A model of token ids and images."""
    return Entry(make, {"ids": IDS, "x": SMALL_IMAGE}, f"self.model(input_ids=ids, pixel_values=x).{result}",
                 refused)


SIZES = "hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64"
TEXT = "vocab_size=99, " + SIZES
GROUPED = TEXT + ", num_key_value_heads=2"
VISION = SIZES + ", image_size=32, patch_size=8"
NARROW = "hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1]"
RESNET = f"ResNetConfig(embedding_size=8, {NARROW}"
TWO_STACKS = ("d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, "
              "decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64")
SPEECH = SIZES + ", num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2"
T5 = "T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)"
BATCHED = "experts_implementation='batched_mm'"
MOE = BATCHED + ", moe_intermediate_size=16, num_experts_per_tok=2"

TRANSFORMERS = {
    # encoders of text
    "BertModel": ids(f"BertModel(BertConfig({TEXT}))"),
    "BertForSequenceClassification": Entry(
        f"BertForSequenceClassification(BertConfig({TEXT}))",
        {"ids": IDS, "mask": "torch.ones(2, 16, dtype=torch.int64)"},
        "self.model(ids, attention_mask=mask).logits"),
    "RobertaModel": ids(f"RobertaModel(RobertaConfig({TEXT}))"),
    "DistilBertModel": ids(
        "DistilBertModel(DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64))"),
    "AlbertModel": ids(f"AlbertModel(AlbertConfig({TEXT}, embedding_size=16))"),
    "ElectraModel": ids(f"ElectraModel(ElectraConfig({TEXT}, embedding_size=16))"),
    "DebertaV2Model": ids(
        f"DebertaV2Model(DebertaV2Config({TEXT}, relative_attention=True, pos_att_type=['c2p', 'p2c']))"),
    "MPNetModel": ids(f"MPNetModel(MPNetConfig({TEXT}))"),
    "ModernBertModel": ids(f"ModernBertModel(ModernBertConfig({TEXT}, pad_token_id=0))"),
    "XLNetModel": ids("XLNetModel(XLNetConfig(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=64))"),
    "FNetModel": ids(
        "FNetModel(FNetConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, intermediate_size=64))",
        refused="its Fourier transform is of complex numbers"),
    # decoders of text
    "GPT2LMHeadModel": decoder("GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4))"),
    "GPTNeoXForCausalLM": decoder(f"GPTNeoXForCausalLM(GPTNeoXConfig({TEXT}))"),
    "OPTForCausalLM": decoder(
        "OPTForCausalLM(OPTConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, ffn_dim=64, "
        "num_attention_heads=4, word_embed_proj_dim=32))"),
    "BloomForCausalLM": decoder(
        "BloomForCausalLM(BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4))"),
    "LlamaForCausalLM": decoder(f"LlamaForCausalLM(LlamaConfig({GROUPED}))"),
    "MistralForCausalLM": decoder(f"MistralForCausalLM(MistralConfig({GROUPED}))"),
    "Qwen2ForCausalLM": decoder(f"Qwen2ForCausalLM(Qwen2Config({GROUPED}))"),
    "Qwen3ForCausalLM": decoder(f"Qwen3ForCausalLM(Qwen3Config({GROUPED}, head_dim=8))"),
    "GemmaForCausalLM": decoder(f"GemmaForCausalLM(GemmaConfig({GROUPED}, head_dim=8))"),
    "Gemma2ForCausalLM": decoder(f"Gemma2ForCausalLM(Gemma2Config({GROUPED}, head_dim=8))"),
    "Gemma3ForCausalLM": decoder(f"Gemma3ForCausalLM(Gemma3TextConfig({GROUPED}, head_dim=8))"),
    "PhiForCausalLM": decoder(f"PhiForCausalLM(PhiConfig({GROUPED}))"),
    "Phi3ForCausalLM": decoder(f"Phi3ForCausalLM(Phi3Config({GROUPED}, pad_token_id=0))"),
    "FalconForCausalLM": decoder(f"FalconForCausalLM(FalconConfig({TEXT}))"),
    "Olmo2ForCausalLM": decoder(f"Olmo2ForCausalLM(Olmo2Config({GROUPED}))"),
    "CohereForCausalLM": decoder(f"CohereForCausalLM(CohereConfig({GROUPED}))"),
    "SmolLM3ForCausalLM": decoder(f"SmolLM3ForCausalLM(SmolLM3Config({GROUPED}, pad_token_id=0))"),
    "MixtralForCausalLM": decoder(
        f"MixtralForCausalLM(MixtralConfig({GROUPED}, {BATCHED}, num_local_experts=4))"),
    "MixtralForCausalLM_grouped": decoder(
        f"MixtralForCausalLM(MixtralConfig({GROUPED}, num_local_experts=4))",
        "histc of integers and _grouped_mm are outside of the operator table"),
    "MixtralForCausalLM_eager": decoder(
        f"MixtralForCausalLM(MixtralConfig({GROUPED}, experts_implementation='eager', num_local_experts=4))",
        "asks which experts have tokens, and loops over those"),
    "Qwen2MoeForCausalLM": decoder(
        f"Qwen2MoeForCausalLM(Qwen2MoeConfig({GROUPED}, {MOE}, shared_expert_intermediate_size=32, "
        "num_experts=4))"),
    "Qwen3MoeForCausalLM": decoder(
        f"Qwen3MoeForCausalLM(Qwen3MoeConfig({GROUPED}, {MOE}, num_experts=4, head_dim=8))"),
    "GptOssForCausalLM": decoder(
        f"GptOssForCausalLM(GptOssConfig({GROUPED}, {BATCHED}, head_dim=8, num_local_experts=4))"),
    "DeepseekV3ForCausalLM": decoder(
        f"DeepseekV3ForCausalLM(DeepseekV3Config({TEXT}, {MOE}, num_key_value_heads=4, n_routed_experts=4, "
        "n_group=2, topk_group=1, first_k_dense_replace=1, q_lora_rank=16, kv_lora_rank=16, "
        "qk_rope_head_dim=8, v_head_dim=8, qk_nope_head_dim=8))"),
    "MambaForCausalLM": decoder(
        "MambaForCausalLM(MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8))"),
    "Mamba2ForCausalLM": decoder(
        "Mamba2ForCausalLM(Mamba2Config(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8, "
        "num_heads=8, head_dim=8, n_groups=2, chunk_size=8))"),
    "RwkvForCausalLM": decoder(
        "RwkvForCausalLM(RwkvConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2))"),
    # encoders with decoders
    "T5Model": pair(f"T5Model({T5})"),
    "T5EncoderModel": ids(f"T5EncoderModel({T5})"),
    "BartModel": pair(f"BartModel(BartConfig(vocab_size=99, {TWO_STACKS}))"),
    "MarianMTModel": pair(f"MarianMTModel(MarianConfig(vocab_size=99, pad_token_id=0, {TWO_STACKS}))", "logits"),
    # sound
    "WhisperModel": Entry(
        f"WhisperModel(WhisperConfig(vocab_size=99, pad_token_id=0, {TWO_STACKS}, num_mel_bins=20, "
        "max_source_positions=50))",
        {"x": "torch.randn(2, 20, 100)", "ids": FEW_IDS},
        "self.model(x, decoder_input_ids=ids).last_hidden_state"),
    "Wav2Vec2Model": sound(f"Wav2Vec2Model(Wav2Vec2Config({SPEECH}))"),
    "HubertModel": sound(f"HubertModel(HubertConfig({SPEECH}))"),
    "ASTModel": sound(f"ASTModel(ASTConfig({SIZES}, max_length=64, num_mel_bins=32))", "2, 64, 32"),
    "EncodecModel": Entry(
        "EncodecModel(EncodecConfig(num_filters=4, hidden_size=16, codebook_size=32, upsampling_ratios=[4, 2]))",
        {"x": "torch.randn(2, 1, 400)"}, "self.model.encoder(x)"),
    # images
    "ViTModel": hidden(f"ViTModel(ViTConfig({VISION}))", 32),
    "DeiTModel": hidden(f"DeiTModel(DeiTConfig({VISION}))", 32),
    "BeitModel": hidden(f"BeitModel(BeitConfig({VISION}, use_relative_position_bias=True))", 32),
    "Dinov2Model": hidden(
        "Dinov2Model(Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=32, "
        "patch_size=8))", 32),
    "SwinModel": hidden(
        "SwinModel(SwinConfig(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], "
        "window_size=4))", 32),
    "ConvNextModel": hidden(f"ConvNextModel(ConvNextConfig({NARROW}))"),
    "ResNetModel": hidden(f"ResNetModel({RESNET}))"),
    "SegformerForSemanticSegmentation": image(
        f"SegformerForSemanticSegmentation(SegformerConfig({NARROW}, num_attention_heads=[1, 1, 2, 2], "
        "decoder_hidden_size=16))", "self.model(x).logits"),
    "DPTForDepthEstimation": image(
        "DPTForDepthEstimation(DPTConfig(hidden_size=32, num_hidden_layers=4, num_attention_heads=4, "
        "intermediate_size=64, image_size=32, patch_size=8, backbone_out_indices=[0, 1, 2, 3], "
        "neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16))", "self.model(x).predicted_depth", 32),
    "MobileViTModel": hidden(
        "MobileViTModel(MobileViTConfig(image_size=64, hidden_sizes=[16, 24, 32], "
        "neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64]))"),
    "VideoMAEModel": sound(f"VideoMAEModel(VideoMAEConfig({VISION}, num_frames=4))", "2, 4, 3, 32, 32"),
    # detection and segmentation
    "YolosForObjectDetection": image(
        f"YolosForObjectDetection(YolosConfig({SIZES}, image_size=[32, 32], patch_size=8, "
        "num_detection_tokens=5))", "self.model(x).logits", 32),
    "DetrForObjectDetection": image(
        f"DetrForObjectDetection(DetrConfig(backbone_config={RESNET}, out_features=['stage4']), {TWO_STACKS}, "
        "use_timm_backbone=False, num_queries=5))", "self.model(x).logits"),
    "SamModel": Entry(
        "SamModel(SamConfig(vision_config=SamVisionConfig(hidden_size=32, output_channels=16, num_pos_feats=8, "
        "num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=8, window_size=4, "
        "global_attn_indexes=[1], mlp_dim=64), prompt_encoder_config=SamPromptEncoderConfig(hidden_size=16, "
        "image_size=64, patch_size=8, mask_input_channels=4), mask_decoder_config=SamMaskDecoderConfig("
        "hidden_size=16, mlp_dim=32, num_hidden_layers=2, num_attention_heads=2, iou_head_hidden_dim=16)))",
        {"x": "torch.randn(1, 3, 64, 64)", "points": "torch.rand(1, 1, 2, 2) * 64"},
        "self.model(pixel_values=x, input_points=points).pred_masks"),
    "MaskFormerForInstanceSegmentation": image(
        "MaskFormerForInstanceSegmentation(MaskFormerConfig(backbone_config=SwinConfig(image_size=64, "
        "embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4, "
        "out_features=['stage1', 'stage2', 'stage3', 'stage4']), "
        f"decoder_config=DetrConfig({TWO_STACKS}, num_queries=5), fpn_feature_size=32, mask_feature_size=32))",
        "self.model(x).masks_queries_logits"),
    # text and images
    "CLIPModel": text_and_image(
        f"CLIPModel(CLIPConfig(text_config=dict({TEXT}), vision_config=dict({VISION}), projection_dim=16))",
        "logits_per_image"),
    "SiglipModel": text_and_image(
        f"SiglipModel(SiglipConfig(text_config=dict({TEXT}), vision_config=dict({VISION})))",
        "logits_per_image"),
    "BlipVisionModel": hidden(f"BlipVisionModel(BlipVisionConfig({VISION}))", 32),
    "ViltModel": text_and_image(
        f"ViltModel(ViltConfig({TEXT}, image_size=32, patch_size=8))", "last_hidden_state",
        "chooses the patches that the mask leaves, and their number depends on data"),
    # series
    "PatchTSTModel": sound(
        "PatchTSTModel(PatchTSTConfig(num_input_channels=3, context_length=32, patch_length=4, patch_stride=4, "
        "d_model=16, num_hidden_layers=2, num_attention_heads=4, ffn_dim=32))", "2, 32, 3"),
    "DecisionTransformerModel": Entry(
        "DecisionTransformerModel(DecisionTransformerConfig(state_dim=7, act_dim=3, hidden_size=32, n_layer=2, "
        "n_head=4))",
        {"states": "torch.randn(2, 5, 7)", "actions": "torch.randn(2, 5, 3)", "rewards": "torch.randn(2, 5, 1)",
         "returns": "torch.randn(2, 5, 1)", "times": "torch.randint(0, 100, (2, 5))",
         "mask": "torch.ones(2, 5)"},
        "self.model(states=states, actions=actions, rewards=rewards, returns_to_go=returns, timesteps=times, "
        "attention_mask=mask).action_preds"),
}


def denoiser(make, x=LATENT, context="2, 7, 32", call="x, t, context", **more):
    """A model of a noisy latent, a time and the hidden states of a text."""
    return Entry(make, {"x": x, "t": TIMES, "context": f"torch.randn({context})", **more},
                 f"self.model({call}).sample")


HEADS = "num_attention_heads=2, attention_head_dim=8, num_layers=2"
TWO_BLOCKS = "block_out_channels=(32, 64), layers_per_block=1"
CONDITION = TWO_BLOCKS + ", cross_attention_dim=32, attention_head_dim=8"
DOWN = "down_block_types=('DownBlock2D', 'CrossAttnDownBlock2D')"
EACH_SIDE = ("{0}_block_types=('ResBlock', 'EfficientViTBlock'), {0}_block_out_channels=(16, 16), "
             "{0}_layers_per_block=(1, 1), {0}_qkv_multiscales=((), (5,))")

DIFFUSERS = {
    "UNet2DModel": image(
        f"UNet2DModel(sample_size=32, {TWO_BLOCKS}, down_block_types=('DownBlock2D', 'AttnDownBlock2D'), "
        "up_block_types=('AttnUpBlock2D', 'UpBlock2D'))", "self.model(x, 10).sample", 32),
    "UNet2DConditionModel": denoiser(
        f"UNet2DConditionModel(sample_size=16, {CONDITION}, {DOWN}, "
        "up_block_types=('CrossAttnUpBlock2D', 'UpBlock2D'))", "torch.randn(2, 4, 16, 16)"),
    "UNet1DModel": Entry(
        "UNet1DModel(block_out_channels=(8, 8, 16, 16), in_channels=14, out_channels=14, "
        "time_embedding_type='positional', use_timestep_embedding=True, flip_sin_to_cos=False, freq_shift=1.0, "
        "out_block_type='OutConv1DBlock', mid_block_type='MidResTemporalBlock1D', "
        "down_block_types=('DownResnetBlock1D',) * 4, up_block_types=('UpResnetBlock1D',) * 3, act_fn='swish')",
        {"x": "torch.randn(2, 14, 16)", "t": TIMES}, "self.model(x, t).sample"),
    "ControlNetModel": Entry(
        f"ControlNetModel({CONDITION}, {DOWN}, conditioning_embedding_out_channels=(16, 32))",
        {"x": "torch.randn(2, 4, 16, 16)", "t": TIMES, "context": "torch.randn(2, 7, 32)", "image": SMALL_IMAGE},
        "self.model(x, t, context, image).mid_block_res_sample"),
    "AutoencoderKL": image(
        "AutoencoderKL(block_out_channels=(32, 64), down_block_types=('DownEncoderBlock2D',) * 2, "
        "up_block_types=('UpDecoderBlock2D',) * 2, norm_num_groups=8)", "self.model(x).sample", 32),
    "AutoencoderTiny": image(
        "AutoencoderTiny(encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), "
        "num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1))", "self.model(x).sample", 32),
    "VQModel": image(
        "VQModel(block_out_channels=(32,), norm_num_groups=8, num_vq_embeddings=16)", "self.model(x).sample", 32),
    "AutoencoderDC": image(
        "AutoencoderDC(latent_channels=4, attention_head_dim=8, "
        f"{EACH_SIDE.format('encoder')}, {EACH_SIDE.format('decoder')})", "self.model(x).sample", 32),
    "AutoencoderKLWan": Entry(
        "AutoencoderKLWan(base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1)",
        {"x": "torch.randn(1, 3, 5, 16, 16)"}, "self.model(x).sample"),
    "DiTTransformer2DModel": Entry(
        f"DiTTransformer2DModel({HEADS}, in_channels=4, sample_size=8, num_embeds_ada_norm=1000)",
        {"x": LATENT, "t": TIMES, "labels": TIMES}, "self.model(x, timestep=t, class_labels=labels).sample"),
    "Transformer2DModel": image(
        "Transformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=32, num_layers=2, "
        "norm_num_groups=8)", "self.model(x).sample", 8, 32),
    "PixArtTransformer2DModel": denoiser(
        f"PixArtTransformer2DModel({HEADS}, in_channels=4, out_channels=8, cross_attention_dim=16, sample_size=8, "
        "caption_channels=8, use_additional_conditions=False)", context="2, 7, 8",
        call="x, encoder_hidden_states=context, timestep=t, added_cond_kwargs={}"),
    "SD3Transformer2DModel": denoiser(
        "SD3Transformer2DModel(sample_size=8, patch_size=1, in_channels=4, num_layers=2, attention_head_dim=8, "
        "num_attention_heads=4, joint_attention_dim=32, caption_projection_dim=32, pooled_projection_dim=64, "
        "out_channels=4, pos_embed_max_size=16)", call="x, context, pooled, t", pooled="torch.randn(2, 64)"),
    "FluxTransformer2DModel": denoiser(
        "FluxTransformer2DModel(patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, "
        "attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32, "
        "axes_dims_rope=(4, 4, 8))", "torch.randn(2, 16, 4)", call="x, context, pooled, t, image, text",
        pooled="torch.randn(2, 32)", image="torch.randn(16, 3)", text="torch.randn(7, 3)"),
    "SanaTransformer2DModel": denoiser(
        "SanaTransformer2DModel(patch_size=1, in_channels=4, out_channels=4, num_layers=1, attention_head_dim=4, "
        "num_attention_heads=2, num_cross_attention_heads=2, cross_attention_head_dim=4, cross_attention_dim=8, "
        "caption_channels=8, sample_size=8)", context="2, 7, 8", call="x, context, t"),
    "WanTransformer3DModel": denoiser(
        "WanTransformer3DModel(patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=4, "
        "out_channels=4, text_dim=16, freq_dim=64, ffn_dim=32, num_layers=2, rope_max_seq_len=32)",
        "torch.randn(2, 4, 2, 8, 8)", "2, 7, 16"),
    "CogVideoXTransformer3DModel": denoiser(
        f"CogVideoXTransformer3DModel({HEADS}, in_channels=4, out_channels=4, time_embed_dim=16, "
        "text_embed_dim=16, sample_width=8, sample_height=8, sample_frames=5, max_text_seq_length=7)",
        "torch.randn(2, 2, 4, 8, 8)", "2, 7, 16", "x, context, t"),
    "PriorTransformer": Entry(
        f"PriorTransformer({HEADS}, embedding_dim=16, num_embeddings=7)",
        {"x": "torch.randn(2, 16)", "t": TIMES, "embedding": "torch.randn(2, 16)",
         "context": "torch.randn(2, 7, 16)"},
        "self.model(x, t, embedding, context).predicted_image_embedding"),
}


def timm(names, size=64, options=""):
    """Models of timm by their names."""
    return {name: image(f"timm.create_model('{name}', num_classes=10{options})", size=size)
            for name in names.split()}


TIMM = {
    **timm("resnet18 resnetv2_50 seresnext26d_32x4d convnext_atto convnextv2_atto efficientnet_b0 "
           "tf_efficientnetv2_b0 mobilenetv3_small_100 mobilenetv4_conv_small regnety_002 densenet121 dla34 dpn48b "
           "ghostnet_100 hrnet_w18_small repvgg_a0 rexnet_100 mobileone_s0 fastvit_t8 nfnet_l0 poolformer_s12 "
           "edgenext_xx_small inception_next_atto"),
    **timm("vit_tiny_patch16_224 deit_tiny_patch16_224 beit_base_patch16_224 mixer_s16_224 gmlp_s16_224 "
           "resmlp_12_224 cait_xxs24_224 xcit_nano_12_p16_224 eva02_tiny_patch14_224 volo_d1_224",
           options=", img_size=64"),
    **timm("vit_tiny_r_s16_p8_224 vit_small_r26_s32_224", options=", img_size=64"),
    **timm("vit_small_patch14_dinov2", 56, ", img_size=56"),
    **timm("swin_tiny_patch4_window7_224 swinv2_cr_tiny_224 coatnet_nano_rw_224 levit_128s pvt_v2_b0 "
           "twins_pcpvt_small mvitv2_tiny davit_tiny tiny_vit_5m_224 efficientformerv2_s0", 224),
    **timm("crossvit_tiny_240", 240),
    **timm("maxvit_rmlp_pico_rw_256", 256),
}


def vision(name, options="num_classes=10", result="self.model(x)", size=64, refused=""):
    """A model of torchvision."""
    return image(f"torchvision.models.{name}({options})", result, size, refused=refused)


def segmentation(name):
    return vision("segmentation." + name, "weights_backbone=None, num_classes=5", "self.model(x)['out']")


def video(name, size):
    return Entry(f"torchvision.models.video.{name}(num_classes=10)",
                 {"x": f"torch.randn(1, 3, 8, {size}, {size})"}, "self.model(x)")


TORCHVISION = {
    **{name: vision(name) for name in (
        "alexnet resnet18 resnext50_32x4d wide_resnet50_2 vgg11_bn densenet121 mobilenet_v2 mobilenet_v3_small "
        "shufflenet_v2_x0_5 squeezenet1_1 mnasnet0_5 efficientnet_b0 efficientnet_v2_s regnet_y_400mf "
        "convnext_tiny swin_t swin_v2_t").split()},
    "googlenet": vision("googlenet", "num_classes=10, aux_logits=False, init_weights=False"),
    "googlenet_drawn": vision("googlenet", "num_classes=10, init_weights=True"),
    "inception_v3": vision("inception_v3", "num_classes=10, init_weights=False", size=96),
    "vit_b_16": vision("vit_b_16", "image_size=64, num_classes=10"),
    "maxvit_t": vision("maxvit_t", size=224),
    "fcn_resnet50": segmentation("fcn_resnet50"),
    "deeplabv3_mobilenet_v3_large": segmentation("deeplabv3_mobilenet_v3_large"),
    "lraspp_mobilenet_v3_large": segmentation("lraspp_mobilenet_v3_large"),
    "r3d_18": video("r3d_18", 32),
    "swin3d_t": video("swin3d_t", 64),
    "raft_small": Entry("torchvision.models.optical_flow.raft_small()",
                        {"x": "torch.randn(1, 3, 128, 128)", "y": "torch.randn(1, 3, 128, 128)"},
                        "self.model(x, y, num_flow_updates=2)[-1]"),
    "ssdlite320_mobilenet_v3_large": vision(
        "detection.ssdlite320_mobilenet_v3_large", "weights_backbone=None, num_classes=5",
        "self.model(list(x))[0]['boxes']", 320, "how many boxes it finds depends on data"),
}

MODELS = {"transformers": TRANSFORMERS, "diffusers": DIFFUSERS, "timm": TIMM, "torchvision": TORCHVISION}
