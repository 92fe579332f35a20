/* op/ops_image.def.h: images, windows, regions, transforms. Rows of ops.def.h. */
#ifndef DYNC__OPS_IMAGE_DEF_H
#define DYNC__OPS_IMAGE_DEF_H

/* clang-format off */
#define DYNC__OPS_IMAGE(X)                                                                                            \
    X(affine_grid, COMPOSITE, "(Tensor theta, Dims size, bool align_corners)", 1, i_composite, none, none, none,      \
      d_affine_grid, "F.*", 0, -1,                                                                                    \
      "the places theta [N, 2, 3] sends an image of that size [N, C, H, W] to, for grid_sample; "                     \
      "[N, 3, 4] for three dims")                                                                                     \
    X(col2im, COMPOSITE,                                                                                              \
      "(Tensor self, Dims output_size, Dims kernel_size, Dims dilation, Dims padding, Dims stride)", 1, i_composite,  \
      none, none, none, d_col2im, "F.fold", 0, -1,                                                                    \
      "columns of windows [N, C * kernel, windows] added up to images: PyTorch's F.fold")                             \
    X(deform_conv2d, COMPOSITE,                                                                                       \
      "(Tensor input, Tensor offset, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, "         \
      "Tensor? mask)", 1, i_composite, none, none, none, d_deform_conv2d,                                             \
      "torchvision.ops.deform_conv2d({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})", 0, -1,                                 \
      "conv2d whose windows read where offsets move them, times a mask; as torchvision.ops")                          \
    X(fft_fft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_fft,            \
      "torch.view_as_real(torch.fft.fft(torch.view_as_complex({0}), {1}, {2}))", 0, -1,                               \
      "the Fourier transform along dim of pairs [.., 2] (real, imaginary), which are no dim of their own; "           \
      "cut or padded to n, none: as long as it is")                                                                   \
    X(fft_ifft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_ifft,          \
      "torch.view_as_real(torch.fft.ifft(torch.view_as_complex({0}), {1}, {2}))", 0, -1,                              \
      "fft_fft back: over 1 / n of the sum")                                                                          \
    X(fft_irfft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_irfft,        \
      "torch.fft.irfft(torch.view_as_complex({0}), {1}, {2})", 0, -1,                                                 \
      "fft_rfft back: n real numbers from the n / 2 + 1 first pairs; n none: twice their number less 2")              \
    X(fft_rfft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_rfft,          \
      "torch.view_as_real(torch.fft.rfft({0}, {1}, {2}))", 0, -1,                                                     \
      "the Fourier transform along dim of real numbers: its n / 2 + 1 first results as pairs [.., 2]")                \
    X(_fourier, KERNEL, "(Tensor self, int64 n, bool pairs, bool back, bool half, float scale)", 1, i_fourier, none,  \
      l_fourier, g_fourier, d_fourier, "D.*", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                                   \
      "transforms of rows [rows, n (, 2)]: of pairs or real numbers, of half a spectrum or to one")                   \
    X(grid_sample, COMPOSITE, "(Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners)", 1,       \
      i_composite, none, none, none, d_grid_sample, "F.*", 0, -1,                                                     \
      "input [N, C, H, W] read at the places of grid [N, H', W', 2], x before y, from -1 to 1; mode \"bilinear\", "   \
      "\"nearest\" or \"bicubic\", padding_mode \"zeros\", \"border\" or \"reflection\"; one to three dims")          \
    X(im2col, COMPOSITE, "(Tensor self, Dims kernel_size, Dims dilation, Dims padding, Dims stride)", 1, i_composite, \
      none, none, g_im2col, d_im2col, "F.unfold", 0, -1,                                                              \
      "what each window of [N, C, H, W] reads, as columns [N, C * kernel, windows]: PyTorch's F.unfold")              \
    X(lp_pool2d, COMPOSITE,                                                                                           \
      "(Tensor self, float norm_type, Dims kernel_size, Dims stride, bool ceil_mode)", 1, i_composite, none, none,    \
      none, d_lp_pool2d, "F.*", 0, -1,                                                                                \
      "the root of the sum of powers over windows; an empty stride is the kernel size")                               \
    X(max_unpool2d, COMPOSITE, "(Tensor self, Tensor indices, Dims output_size)", 1, i_composite, none, none, none,   \
      d_max_unpool2d, "A.*", 0, -1,                                                                                   \
      "each element at the place that max_pool2d_with_indices took it from, zeros elsewhere")                         \
    X(nms, KERNEL, "(Tensor boxes, Tensor scores, float iou_threshold)", 1, none, none, none, none, d_nms,            \
      "torchvision.ops.nms", DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF, -1,                                              \
      "which boxes [N, 4] of x1 y1 x2 y2 stay, best first: none that overlaps a better one by more")                  \
    X(_nms_each, KERNEL, "(Tensor boxes, Tensor scores, int64 most, float iou_threshold, float least)", 1, none,      \
      none, none, none, d_nms_each, "D.*",                                                                            \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF, -1,                                  \
      "nms of boxes [B, N, 4] by scores [B, C, N] above least, at most so many each: rows of batch, class, box")      \
    X(pixel_shuffle, COMPOSITE, "(Tensor self, int64 upscale_factor)", 1, i_composite, none, none, none,              \
      d_pixel_shuffle, "F.*", 0, -1, "[.., C r r, H, W] as [.., C, H r, W r]")                                        \
    X(_roi_align, COMPOSITE,                                                                                          \
      "(Tensor input, Tensor boxes, Tensor image, Dims output_size, float spatial_scale, Dims samples, "              \
      "bool aligned, bool most)", 1, i_composite, none, none, none, d_roi_samples, "D.roi_align",                     \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                                                                           \
      "roi_align with samples for each dim; most: the largest of the weighted corners instead of means, as ONNX has") \
    X(roi_align, COMPOSITE,                                                                                           \
      "(Tensor input, Tensor boxes, Dims output_size, float spatial_scale, int64 sampling_ratio, bool aligned)", 1,   \
      i_composite, none, none, none, d_roi_align, "torchvision.ops.roi_align", 0, -1,                                 \
      "means of sampling_ratio^2 samples for each of the output's places of boxes [K, 5] (image, x1 y1 x2 y2); as "   \
      "torchvision.ops, but for a sampling_ratio that follows from the boxes")                                        \
    X(stft, COMPOSITE, "(Tensor self, int64 n_fft, int64 hop_length, Tensor? window, bool onesided)", 1, i_composite, \
      none, none, none, d_stft,                                                                                       \
      "torch.view_as_real(torch.stft({0}, {1}, {2}, {1} if {3} is None else {3}.size(0), {3}, center=False, "         \
      "onesided={4}, return_complex=True))", 0, -1,                                                                   \
      "Fourier transforms of overlapping frames of [B, L], times the window: pairs [B, bins, frames, 2]; "            \
      "frames begin at 0 (center=False)")                                                                             \
    X(upsample_bicubic2d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,     \
      none, none, d_upsample_bicubic2d,                                                                               \
      "torch.nn.functional.interpolate({0}, {1}, mode='bicubic', align_corners={2})", 0, -1,                          \
      "[N, C, H, W] in another size, by cubic polynomials")                                                           \
    X(upsample_bilinear2d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,    \
      none, none, d_upsample_bilinear2d,                                                                              \
      "torch.nn.functional.interpolate({0}, {1}, mode='bilinear', align_corners={2})", 0, -1,                         \
      "[N, C, H, W] in another size, by straight lines")                                                              \
    X(upsample_linear1d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,      \
      none, none, d_upsample_linear1d,                                                                                \
      "torch.nn.functional.interpolate({0}, {1}, mode='linear', align_corners={2})", 0, -1,                           \
      "[N, C, L] in another size, by straight lines")                                                                 \
    X(upsample_nearest2d, COMPOSITE, "(Tensor self, Dims output_size)", 1, i_composite, none, none, none,             \
      d_upsample_nearest2d, "F.interpolate", 0, -1,                                                                   \
      "[N, C, H, W] in another size, by the nearest element")                                                         \
    X(upsample_trilinear3d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,   \
      none, none, d_upsample_trilinear3d,                                                                             \
      "torch.nn.functional.interpolate({0}, {1}, mode='trilinear', align_corners={2})", 0, -1,                        \
      "[N, C, D, H, W] in another size, by straight lines")
/* clang-format on */
#endif
