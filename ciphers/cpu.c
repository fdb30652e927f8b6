/* SPDX-License-Identifier: Apache-2.0 */
#include "ciphers/cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>

/* The register sets that the operating system saves: Intel SDM volume 1, 13.3. */
enum { XCR0_YMM = 0x06, XCR0_ZMM = 0xe6 };

static uint64_t xgetbv0(void)
{
    uint32_t low, high;

    /*
     * As an instruction, since the intrinsic would need a target attribute and we only come here when OSXSAVE says
     * so.
     */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int has_all(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

/* Intel's with nothing but efficient cores, whose units are 128 bits wide: models of family 6. */
enum { ALDER_LAKE_N = 0xbe, SIERRA_FOREST = 0xaf, GRAND_RIDGE = 0xb6, CLEARWATER_FOREST = 0xdd };

/* What CPUID does not say: Intel's other ones that know VPCLMULQDQ are fast; AMD's take two cycles up to Zen 4. */
static int has_fast_clmul(void)
{
    uint32_t eax, ebx, ecx, edx, model;

    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_INTEL_ebx || ecx != signature_INTEL_ecx ||
        edx != signature_INTEL_edx || !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return 0;
    model = (eax >> 12 & 0xf0) | (eax >> 4 & 0x0f);
    return model != ALDER_LAKE_N && model != SIERRA_FOREST && model != GRAND_RIDGE && model != CLEARWATER_FOREST;
}

uint32_t aesop_cpu_features(void)
{
    const uint32_t avx512_bits = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    uint32_t eax, ebx, ecx, edx, features = 0;
    uint64_t xcr0 = 0;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return 0;
    if (has_all(ecx, bit_AES | bit_PCLMUL | bit_SSSE3 | bit_SSE4_1))
        features |= AESOP_CPU_AESNI;
    if (has_all(ecx, bit_OSXSAVE | bit_AVX))
        xcr0 = xgetbv0();
    if ((xcr0 & XCR0_YMM) != XCR0_YMM || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return features;

    if (has_all(ebx, bit_AVX2))
        features |= AESOP_CPU_AVX2;
    if (has_all(ecx, bit_VAES | bit_VPCLMULQDQ))
        features |= AESOP_CPU_VAES | (has_fast_clmul() ? AESOP_CPU_FAST_CLMUL : 0);
    if ((xcr0 & XCR0_ZMM) == XCR0_ZMM && has_all(ebx, avx512_bits))
        features |= AESOP_CPU_AVX512;
    return features;
}

#else

uint32_t aesop_cpu_features(void)
{
    return 0;
}

#endif
