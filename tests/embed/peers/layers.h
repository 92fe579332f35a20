/* The layers that the peers share. Written as one would for such a chip: four outputs at a time
 * where they share what is read, whole windows without a test of each element, the rest clipped. */
#ifndef LAYERS_H
#define LAYERS_H

static inline float relu_of(float x) { return x > 0 ? x : 0; }

/* y[m] = w[m][n] x[n] + bias[m] */
static inline void linear(const float *x, int n, const float *w, const float *bias, float *y, int m,
                          int relu)
{
    for (int i = 0; i < m / 4 * 4; i += 4) {
        const float *w0 = w + i * n, *w1 = w0 + n, *w2 = w1 + n, *w3 = w2 + n;
        float s0 = bias[i], s1 = bias[i + 1], s2 = bias[i + 2], s3 = bias[i + 3];
        for (int k = 0; k < n; k++) {
            float e = x[k];
            s0 += w0[k] * e;
            s1 += w1[k] * e;
            s2 += w2[k] * e;
            s3 += w3[k] * e;
        }
        y[i] = relu ? relu_of(s0) : s0;
        y[i + 1] = relu ? relu_of(s1) : s1;
        y[i + 2] = relu ? relu_of(s2) : s2;
        y[i + 3] = relu ? relu_of(s3) : s3;
    }
    for (int i = m / 4 * 4; i < m; i++) {
        float s = bias[i];
        for (int k = 0; k < n; k++) s += w[i * n + k] * x[k];
        y[i] = relu ? relu_of(s) : s;
    }
}

/* One place of a 3x3 convolution with padding 1: the sum over the channels, clipped at the edges.
 * x [channels][height][width], its window begins at row p and column q. */
static inline float window3(const float *x, int channels, int height, int width, const float *w,
                            int p, int q)
{
    float s = 0;
    if (p >= 0 && q >= 0 && p + 3 <= height && q + 3 <= width) {
        x += p * width + q;
        for (int c = 0; c < channels; c++, x += height * width, w += 9) {
            const float *x1 = x + width, *x2 = x1 + width;
            s += x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
            s += x1[0] * w[3] + x1[1] * w[4] + x1[2] * w[5];
            s += x2[0] * w[6] + x2[1] * w[7] + x2[2] * w[8];
        }
        return s;
    }
    int u0 = p < 0 ? -p : 0, u1 = p + 3 > height ? height - p : 3;
    int v0 = q < 0 ? -q : 0, v1 = q + 3 > width ? width - q : 3;
    for (int c = 0; c < channels; c++, x += height * width, w += 9)
        for (int u = u0; u < u1; u++)
            for (int v = v0; v < v1; v++) s += x[(p + u) * width + q + v] * w[3 * u + v];
    return s;
}

/* y[m][n] = w[m][k] x[k][n] + bias[m], relu: a convolution of 1x1 over n places. Two channels of
 * four places at a time. */
static inline void pointwise(const float *x, int k, int n, const float *w, const float *bias,
                             float *y, int m)
{
    for (int o = 0; o < m; o += 2) {
        const float *w0 = w + o * k, *w1 = w0 + k;
        float *y0 = y + o * n, *y1 = y0 + n, b0 = bias[o], b1 = bias[o + 1];
        int i = 0;
        for (; i + 4 <= n; i += 4) {
            const float *e = x + i;
            float s0 = b0, s1 = b0, s2 = b0, s3 = b0, t0 = b1, t1 = b1, t2 = b1, t3 = b1;
            for (int c = 0; c < k; c++, e += n) {
                float f = w0[c], g = w1[c];
                s0 += f * e[0];
                s1 += f * e[1];
                s2 += f * e[2];
                s3 += f * e[3];
                t0 += g * e[0];
                t1 += g * e[1];
                t2 += g * e[2];
                t3 += g * e[3];
            }
            y0[i] = relu_of(s0);
            y0[i + 1] = relu_of(s1);
            y0[i + 2] = relu_of(s2);
            y0[i + 3] = relu_of(s3);
            y1[i] = relu_of(t0);
            y1[i + 1] = relu_of(t1);
            y1[i + 2] = relu_of(t2);
            y1[i + 3] = relu_of(t3);
        }
        for (; i < n; i++) {
            float s = b0, t = b1;
            for (int c = 0; c < k; c++) {
                s += w0[c] * x[c * n + i];
                t += w1[c] * x[c * n + i];
            }
            y0[i] = relu_of(s);
            y1[i] = relu_of(t);
        }
    }
}
#endif
