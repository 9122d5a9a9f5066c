// The functions of kernel expressions, in the precision of `real`.

#ifdef SINGLE
typedef float real;

__device__ real exp2_of(real x) {
    real y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ real sqrt_of(real x) {
    real y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ real exp_of(real x) { return __expf(x); }
__device__ real expm1_of(real x) { return expm1f(x); }
__device__ real size_of(real x) { return fabsf(x); }
#else
typedef double real;

__device__ real exp2_of(real x) { return exp2(x); }
__device__ real sqrt_of(real x) { return sqrt(x); }
__device__ real exp_of(real x) { return exp(x); }
__device__ real expm1_of(real x) { return expm1(x); }
__device__ real size_of(real x) { return fabs(x); }
#endif

__device__ real power_of(real x, int n) {
    real y = x;
    for (int i = 1; i < n; ++i) y *= x;
    return y;
}
