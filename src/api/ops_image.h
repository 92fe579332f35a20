/* ---- operators: images, windows, regions, transforms (op/ops_image.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
/* dync_affine_grid: the places theta [N, 2, 3] sends an image of that size [N, C, H, W] to, for
 * grid_sample; [N, 3, 4] for three dims. */
DYNC_API dync_tensor *(dync_affine_grid)(dync_tensor *theta, dync_dims size, bool align_corners);
#define dync_affine_grid(...) \
    DYNC_TAKES_3(DYNC_affine_grid, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_affine_grid takes 3 arguments: theta, size, align_corners", __VA_ARGS__)
#define DYNC_affine_grid(text_, theta, size, align_corners) \
    DYNC_OP_DIMS(dync_affine_grid, dync__op_1Tdb, DYNC__OP_affine_grid, DYNC_T(theta, \
    "dync_affine_grid: theta"), DYNC_D_OF(size, "dync_affine_grid: size"), align_corners)
/* dync_col2im: columns of windows [N, C * kernel, windows] added up to images: PyTorch's F.fold. */
DYNC_API dync_tensor *(dync_col2im)(dync_tensor *self, dync_dims output_size,
    dync_dims kernel_size, dync_dims dilation, dync_dims padding, dync_dims stride);
#define dync_col2im(...) \
    DYNC_TAKES_6(DYNC_col2im, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_col2im takes 6 arguments: self, output_size, kernel_size, dilation, " \
    "padding, stride", __VA_ARGS__)
#define DYNC_col2im(text_, self, output_size, kernel_size, dilation, padding, stride) \
    DYNC_OP_DIMS(dync_col2im, dync__op_1Tddddd, DYNC__OP_col2im, DYNC_T(self, \
    "dync_col2im: self"), DYNC_D_OF(output_size, "dync_col2im: output_size"), \
    DYNC_D_OF(kernel_size, "dync_col2im: kernel_size"), DYNC_D_OF(dilation, \
    "dync_col2im: dilation"), DYNC_D_OF(padding, "dync_col2im: padding"), DYNC_D_OF(stride, \
    "dync_col2im: stride"))
/* dync_deform_conv2d: conv2d whose windows read where offsets move them, times a mask; as
 * torchvision.ops. */
DYNC_API dync_tensor *(dync_deform_conv2d)(dync_tensor *input, dync_tensor *offset,
    dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding,
    dync_dims dilation, dync_tensor *mask);
#define dync_deform_conv2d(...) \
    DYNC_TAKES_8(DYNC_deform_conv2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_deform_conv2d takes 8 arguments: input, offset, weight, bias, stride, " \
    "padding, dilation, mask", __VA_ARGS__)
#define DYNC_deform_conv2d(text_, input, offset, weight, bias, stride, padding, dilation, mask) \
    DYNC_SEQ3_AND(dync_deform_conv2d, dync__op_1TTTOdddO, DYNC__OP_deform_conv2d, DYNC_T(input, \
    "dync_deform_conv2d: input"), DYNC_T(offset, "dync_deform_conv2d: offset"), DYNC_T(weight, \
    "dync_deform_conv2d: weight"), bias, DYNC_D(stride, "dync_deform_conv2d: stride"), \
    DYNC_D(padding, "dync_deform_conv2d: padding"), DYNC_D(dilation, \
    "dync_deform_conv2d: dilation"), mask)
/* dync_fft_fft: the Fourier transform along dim of pairs [.., 2] (real, imaginary), which are no
 * dim of their own; cut or padded to n, none: as long as it is. */
DYNC_API dync_tensor *(dync_fft_fft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_fft(...) \
    DYNC_TAKES_3(DYNC_fft_fft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_fft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_fft(text_, self, n, dim) \
    DYNC_OP(dync_fft_fft, dync__op_1TVi, DYNC__OP_fft_fft, DYNC_T(self, "dync_fft_fft: self"), \
    DYNC_V(n), dim)
/* dync_fft_ifft: fft_fft back: over 1 / n of the sum. */
DYNC_API dync_tensor *(dync_fft_ifft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_ifft(...) \
    DYNC_TAKES_3(DYNC_fft_ifft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_ifft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_ifft(text_, self, n, dim) \
    DYNC_OP(dync_fft_ifft, dync__op_1TVi, DYNC__OP_fft_ifft, DYNC_T(self, \
    "dync_fft_ifft: self"), DYNC_V(n), dim)
/* dync_fft_irfft: fft_rfft back: n real numbers from the n / 2 + 1 first pairs; n none: twice
 * their number less 2. */
DYNC_API dync_tensor *(dync_fft_irfft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_irfft(...) \
    DYNC_TAKES_3(DYNC_fft_irfft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_irfft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_irfft(text_, self, n, dim) \
    DYNC_OP(dync_fft_irfft, dync__op_1TVi, DYNC__OP_fft_irfft, DYNC_T(self, \
    "dync_fft_irfft: self"), DYNC_V(n), dim)
/* dync_fft_rfft: the Fourier transform along dim of real numbers: its n / 2 + 1 first results as
 * pairs [.., 2]. */
DYNC_API dync_tensor *(dync_fft_rfft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_rfft(...) \
    DYNC_TAKES_3(DYNC_fft_rfft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_rfft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_rfft(text_, self, n, dim) \
    DYNC_OP(dync_fft_rfft, dync__op_1TVi, DYNC__OP_fft_rfft, DYNC_T(self, \
    "dync_fft_rfft: self"), DYNC_V(n), dim)
/* dync_grid_sample: input [N, C, H, W] read at the places of grid [N, H', W', 2], x before y,
 * from -1 to 1; mode "bilinear", "nearest" or "bicubic", padding_mode "zeros", "border" or
 * "reflection"; one to three dims. */
DYNC_API dync_tensor *(dync_grid_sample)(dync_tensor *input, dync_tensor *grid, const char *mode,
    const char *padding_mode, bool align_corners);
#define dync_grid_sample(...) \
    DYNC_TAKES_5(DYNC_grid_sample, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_grid_sample takes 5 arguments: input, grid, mode, padding_mode, " \
    "align_corners", __VA_ARGS__)
#define DYNC_grid_sample(text_, input, grid, mode, padding_mode, align_corners) \
    DYNC_SEQ2_AND(dync_grid_sample, dync__op_1TTssb, DYNC__OP_grid_sample, DYNC_T(input, \
    "dync_grid_sample: input"), DYNC_T(grid, "dync_grid_sample: grid"), mode, padding_mode, \
    align_corners)
/* dync_im2col: what each window of [N, C, H, W] reads, as columns [N, C * kernel, windows]:
 * PyTorch's F.unfold. */
DYNC_API dync_tensor *(dync_im2col)(dync_tensor *self, dync_dims kernel_size, dync_dims dilation,
    dync_dims padding, dync_dims stride);
#define dync_im2col(...) \
    DYNC_TAKES_5(DYNC_im2col, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_im2col takes 5 arguments: self, kernel_size, dilation, padding, stride", \
    __VA_ARGS__)
#define DYNC_im2col(text_, self, kernel_size, dilation, padding, stride) \
    DYNC_OP_DIMS(dync_im2col, dync__op_1Tdddd, DYNC__OP_im2col, DYNC_T(self, \
    "dync_im2col: self"), DYNC_D_OF(kernel_size, "dync_im2col: kernel_size"), \
    DYNC_D_OF(dilation, "dync_im2col: dilation"), DYNC_D_OF(padding, "dync_im2col: padding"), \
    DYNC_D_OF(stride, "dync_im2col: stride"))
/* dync_lp_pool2d: the root of the sum of powers over windows; an empty stride is the kernel size.
 * */
DYNC_API dync_tensor *(dync_lp_pool2d)(dync_tensor *self, dync_real norm_type,
    dync_dims kernel_size, dync_dims stride, bool ceil_mode);
#define dync_lp_pool2d(...) \
    DYNC_TAKES_5(DYNC_lp_pool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_lp_pool2d takes 5 arguments: self, norm_type, kernel_size, stride, " \
    "ceil_mode", __VA_ARGS__)
#define DYNC_lp_pool2d(text_, self, norm_type, kernel_size, stride, ceil_mode) \
    DYNC_OP_DIMS(dync_lp_pool2d, dync__op_1Tfddb, DYNC__OP_lp_pool2d, DYNC_T(self, \
    "dync_lp_pool2d: self"), norm_type, DYNC_D_OF(kernel_size, "dync_lp_pool2d: kernel_size"), \
    DYNC_D_OF(stride, "dync_lp_pool2d: stride"), ceil_mode)
/* dync_max_unpool2d: each element at the place that max_pool2d_with_indices took it from, zeros
 * elsewhere. */
DYNC_API dync_tensor *(dync_max_unpool2d)(dync_tensor *self, dync_tensor *indices,
    dync_dims output_size);
#define dync_max_unpool2d(...) \
    DYNC_TAKES_3(DYNC_max_unpool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_max_unpool2d takes 3 arguments: self, indices, output_size", __VA_ARGS__)
#define DYNC_max_unpool2d(text_, self, indices, output_size) \
    DYNC_SEQ2_AND(dync_max_unpool2d, dync__op_1TTd, DYNC__OP_max_unpool2d, DYNC_T(self, \
    "dync_max_unpool2d: self"), DYNC_T(indices, "dync_max_unpool2d: indices"), \
    DYNC_D(output_size, "dync_max_unpool2d: output_size"))
/* dync_nms: which boxes [N, 4] of x1 y1 x2 y2 stay, best first: none that overlaps a better one
 * by more. No gradient. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_nms)(dync_tensor *boxes, dync_tensor *scores, dync_real iou_threshold);
#define dync_nms(...) \
    DYNC_TAKES_3(DYNC_nms, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_nms takes 3 arguments: boxes, scores, iou_threshold", __VA_ARGS__)
#define DYNC_nms(text_, boxes, scores, iou_threshold) \
    DYNC_SEQ2_AND(dync_nms, dync__op_1TTf, DYNC__OP_nms, DYNC_T(boxes, "dync_nms: boxes"), \
    DYNC_T(scores, "dync_nms: scores"), iou_threshold)
/* dync_pixel_shuffle: [.., C r r, H, W] as [.., C, H r, W r]. */
DYNC_API dync_tensor *(dync_pixel_shuffle)(dync_tensor *self, int64_t upscale_factor);
#define dync_pixel_shuffle(...) \
    DYNC_TAKES_2(DYNC_pixel_shuffle, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_pixel_shuffle takes 2 arguments: self, upscale_factor", __VA_ARGS__)
#define DYNC_pixel_shuffle(text_, self, upscale_factor) \
    DYNC_OP(dync_pixel_shuffle, dync__op_1Tl, DYNC__OP_pixel_shuffle, DYNC_T(self, \
    "dync_pixel_shuffle: self"), upscale_factor)
/* dync_roi_align: means of sampling_ratio^2 samples for each of the output's places of boxes [K,
 * 5] (image, x1 y1 x2 y2); as torchvision.ops, but for a sampling_ratio that follows from the
 * boxes. */
DYNC_API dync_tensor *(dync_roi_align)(dync_tensor *input, dync_tensor *boxes,
    dync_dims output_size, dync_real spatial_scale, int64_t sampling_ratio, bool aligned);
#define dync_roi_align(...) \
    DYNC_TAKES_6(DYNC_roi_align, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_roi_align takes 6 arguments: input, boxes, output_size, spatial_scale, " \
    "sampling_ratio, aligned", __VA_ARGS__)
#define DYNC_roi_align(text_, input, boxes, output_size, spatial_scale, sampling_ratio, aligned) \
    DYNC_SEQ2_AND(dync_roi_align, dync__op_1TTdflb, DYNC__OP_roi_align, DYNC_T(input, \
    "dync_roi_align: input"), DYNC_T(boxes, "dync_roi_align: boxes"), DYNC_D(output_size, \
    "dync_roi_align: output_size"), spatial_scale, sampling_ratio, aligned)
/* dync_stft: Fourier transforms of overlapping frames of [B, L], times the window: pairs [B,
 * bins, frames, 2]; frames begin at 0 (center=False). */
DYNC_API dync_tensor *(dync_stft)(dync_tensor *self, int64_t n_fft, int64_t hop_length,
    dync_tensor *window, bool onesided);
#define dync_stft(...) \
    DYNC_TAKES_5(DYNC_stft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_stft takes 5 arguments: self, n_fft, hop_length, window, onesided", \
    __VA_ARGS__)
#define DYNC_stft(text_, self, n_fft, hop_length, window, onesided) \
    DYNC_OP(dync_stft, dync__op_1TllOb, DYNC__OP_stft, DYNC_T(self, "dync_stft: self"), n_fft, \
    hop_length, window, onesided)
/* dync_upsample_bicubic2d: [N, C, H, W] in another size, by cubic polynomials. */
DYNC_API dync_tensor *(dync_upsample_bicubic2d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_bicubic2d(...) \
    DYNC_TAKES_3(DYNC_upsample_bicubic2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_bicubic2d takes 3 arguments: self, output_size, align_corners", \
    __VA_ARGS__)
#define DYNC_upsample_bicubic2d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_bicubic2d, dync__op_1Tdb, DYNC__OP_upsample_bicubic2d, \
    DYNC_T(self, "dync_upsample_bicubic2d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_bicubic2d: output_size"), align_corners)
/* dync_upsample_bilinear2d: [N, C, H, W] in another size, by straight lines. */
DYNC_API dync_tensor *(dync_upsample_bilinear2d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_bilinear2d(...) \
    DYNC_TAKES_3(DYNC_upsample_bilinear2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_bilinear2d takes 3 arguments: self, output_size, align_corners", \
    __VA_ARGS__)
#define DYNC_upsample_bilinear2d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_bilinear2d, dync__op_1Tdb, DYNC__OP_upsample_bilinear2d, \
    DYNC_T(self, "dync_upsample_bilinear2d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_bilinear2d: output_size"), align_corners)
/* dync_upsample_linear1d: [N, C, L] in another size, by straight lines. */
DYNC_API dync_tensor *(dync_upsample_linear1d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_linear1d(...) \
    DYNC_TAKES_3(DYNC_upsample_linear1d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_linear1d takes 3 arguments: self, output_size, align_corners", \
    __VA_ARGS__)
#define DYNC_upsample_linear1d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_linear1d, dync__op_1Tdb, DYNC__OP_upsample_linear1d, DYNC_T(self, \
    "dync_upsample_linear1d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_linear1d: output_size"), align_corners)
/* dync_upsample_nearest2d: [N, C, H, W] in another size, by the nearest element. */
DYNC_API dync_tensor *(dync_upsample_nearest2d)(dync_tensor *self, dync_dims output_size);
#define dync_upsample_nearest2d(...) \
    DYNC_TAKES_2(DYNC_upsample_nearest2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_nearest2d takes 2 arguments: self, output_size", __VA_ARGS__)
#define DYNC_upsample_nearest2d(text_, self, output_size) \
    DYNC_OP_DIMS(dync_upsample_nearest2d, dync__op_1Td, DYNC__OP_upsample_nearest2d, \
    DYNC_T(self, "dync_upsample_nearest2d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_nearest2d: output_size"))
/* dync_upsample_trilinear3d: [N, C, D, H, W] in another size, by straight lines. */
DYNC_API dync_tensor *(dync_upsample_trilinear3d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_trilinear3d(...) \
    DYNC_TAKES_3(DYNC_upsample_trilinear3d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_trilinear3d takes 3 arguments: self, output_size, " \
    "align_corners", __VA_ARGS__)
#define DYNC_upsample_trilinear3d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_trilinear3d, dync__op_1Tdb, DYNC__OP_upsample_trilinear3d, \
    DYNC_T(self, "dync_upsample_trilinear3d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_trilinear3d: output_size"), align_corners)
