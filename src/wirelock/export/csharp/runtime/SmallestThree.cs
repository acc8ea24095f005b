// Unit quaternions as the place of the largest component and three integers, the others.
//
// Client and server agree on the bytes only if they agree on every rounding, so the arithmetic is written out:
// IEEE 754 binary32, one operation a statement. The casts to float are not redundant. ECMA-335 lets a runtime
// compute in a wider format (Mono does, on several platforms), and a cast is what makes it round; a product that
// is stored before it is added to cannot be fused into a multiply-add either. Do not replace any of this by
// Quaternion.Normalize, Vector4.Normalize, MathF or a reciprocal: .NET 8 and .NET 9 normalise in different ways, so
// that the same C# source gives other bytes for one packet in a thousand.
using System;

namespace NAMESPACE
{
    /// <summary>Smallest-three packing of unit quaternions, with 4 to 16 bits a component.</summary>
    public static class SmallestThree
    {
        /// <summary>Smallest squared length that is encoded: 1e-12 in binary32, bits 2B8CBCCC.</summary>
        private const float LeastSquaredLength = 1e-12f;

        /// <summary>What is wrong with a quaternion that is not encoded.</summary>
        internal const string NoLength = "the squared length of the quaternion is below 1e-12, infinite or NaN";

        /// <summary>1 / sqrt(2) in binary32, bits 3F3504F3: the largest that a kept component can be.</summary>
        private const float LargestKept = 0.70710677f;

        /// <summary>The largest integer of a kept component, 2^(bits-1) - 1.</summary>
        public static int Limit(int bits)
        {
            if (bits < 4 || bits > 16)
            {
                throw new ArgumentOutOfRangeException(nameof(bits), bits, "a component has 4 to 16 bits");
            }
            return (1 << (bits - 1)) - 1;
        }

        /// <summary>Pack a quaternion of any length; q and -q give the same packet.</summary>
        /// <param name="x">First component.</param>
        /// <param name="y">Second component.</param>
        /// <param name="z">Third component.</param>
        /// <param name="w">Fourth component, the real one.</param>
        /// <param name="bits">Bits of a kept component, 4 to 16.</param>
        /// <param name="canonical">Give the canonical packet, for which encoding again changes nothing.</param>
        /// <param name="index">Which component is left out, 0 to 3 for x, y, z, w.</param>
        /// <param name="a">The first kept component, -Limit to Limit.</param>
        /// <param name="b">The second kept component.</param>
        /// <param name="c">The third kept component.</param>
        /// <returns>False where the squared length is below 1e-12, infinite or NaN in binary32.</returns>
        public static bool TryEncode(
            float x, float y, float z, float w, int bits, bool canonical,
            out int index, out int a, out int b, out int c)
        {
            index = a = b = c = 0;
            float scale = Scale(bits);
            float squared = SquaredLength(x, y, z, w);
            if (!(squared >= LeastSquaredLength && squared <= float.MaxValue)) // a NaN fails this too
            {
                return false;
            }
            float length = (float)Math.Sqrt(squared);
            x = (float)(x / length);
            y = (float)(y / length);
            z = (float)(z / length);
            w = (float)(w / length);

            // The first of the largest: only a strictly larger one takes its place.
            float largest = x;
            if (Math.Abs(y) > Math.Abs(largest))
            {
                index = 1;
                largest = y;
            }
            if (Math.Abs(z) > Math.Abs(largest))
            {
                index = 2;
                largest = z;
            }
            if (Math.Abs(w) > Math.Abs(largest))
            {
                index = 3;
                largest = w;
            }
            if (largest < 0)
            {
                scale = -scale; // to negate a factor negates the product, exactly
            }
            a = Steps(index == 0 ? y : x, scale);
            b = Steps(index <= 1 ? z : y, scale);
            c = Steps(index <= 2 ? w : z, scale);
            if (canonical)
            {
                MakeCanonical(bits, ref index, ref a, ref b, ref c);
            }
            return true;
        }

        /// <summary>Unpack a unit quaternion; the component that was left out comes out positive.</summary>
        /// <param name="index">Which component is left out, 0 to 3 for x, y, z, w.</param>
        /// <param name="a">The first kept component.</param>
        /// <param name="b">The second kept component.</param>
        /// <param name="c">The third kept component.</param>
        /// <param name="bits">Bits of a kept component, 4 to 16.</param>
        /// <param name="canonical">Refuse packets that are not canonical.</param>
        /// <param name="x">First component.</param>
        /// <param name="y">Second component.</param>
        /// <param name="z">Third component.</param>
        /// <param name="w">Fourth component, the real one.</param>
        /// <param name="fault"><c>out-of-range</c>, <c>rule:reachable</c> or <c>rule:canonical</c>.</param>
        /// <returns>Whether some quaternion has this packet.</returns>
        public static bool TryDecode(
            int index, int a, int b, int c, int bits, bool canonical,
            out float x, out float y, out float z, out float w, out Fault fault)
        {
            x = y = z = w = 0;
            fault = default(Fault);
            if (index < 0 || index > 3)
            {
                fault = new Fault(FaultCode.OutOfRange, "largest_index");
            }
            else if (!IsReachable(index, a, b, c, bits))
            {
                fault = new Fault("rule:reachable", "");
            }
            else if (canonical && !IsCanonical(index, a, b, c, bits))
            {
                fault = new Fault("rule:canonical", "");
            }
            if (!fault.IsNone)
            {
                return false;
            }
            float scale = Scale(bits);
            float first = (float)(a / scale);
            float second = (float)(b / scale);
            float third = (float)(c / scale);
            float firstSquared = (float)(first * first);
            float secondSquared = (float)(second * second);
            float thirdSquared = (float)(third * third);
            float two = (float)(firstSquared + secondSquared);
            float three = (float)(two + thirdSquared);
            float rest = (float)(1f - three); // at least 0.2499, since the packet is reachable
            float omitted = (float)Math.Sqrt(rest);
            x = index == 0 ? omitted : first;
            y = index == 0 ? first : index == 1 ? omitted : second;
            z = index <= 1 ? second : index == 2 ? omitted : third;
            w = index == 3 ? omitted : third;
            float length = (float)Math.Sqrt(SquaredLength(x, y, z, w));
            x = (float)(x / length);
            y = (float)(y / length);
            z = (float)(z / length);
            w = (float)(w / length);
            return true;
        }

        /// <summary>Whether some quaternion encodes to this packet; by integers alone.</summary>
        public static bool IsReachable(int index, int a, int b, int c, int bits)
        {
            long limit = Limit(bits);
            long slack = ((2 * limit * limit) + (1 << 20) - 1) >> 20; // what binary32 may add, rounded up
            long ta = Math.Abs((long)a) * (Math.Abs((long)a) - 1);
            long tb = Math.Abs((long)b) * (Math.Abs((long)b) - 1);
            long tc = Math.Abs((long)c) * (Math.Abs((long)c) - 1);
            return index >= 0 && index <= 3 && IsWithin(a, limit) && IsWithin(b, limit) && IsWithin(c, limit)
                && ta + tb + tc + Math.Max(ta, Math.Max(tb, tc)) <= (2 * limit * limit) + slack;
        }

        /// <summary>Whether a packet is the canonical one of its rotation; by integers alone.</summary>
        public static bool IsCanonical(int index, int a, int b, int c, int bits)
        {
            long limit = Limit(bits);
            if (index < 0 || index > 3 || !IsWithin(a, limit) || !IsWithin(b, limit) || !IsWithin(c, limit))
            {
                return false;
            }
            NearTie(index, a, b, c, bits, out long rest, out long largest, out int first);
            return rest >= largest * largest || (index < first && rest > (largest * largest) - largest);
        }

        /// <summary>
        /// Tell the largest kept magnitude m, the first component that has it, and D - T: the square of the component
        /// left out, in steps, less the margin of a near tie.
        /// </summary>
        private static void NearTie(
            int index, long a, long b, long c, int bits, out long rest, out long largest, out int first)
        {
            long limit = Limit(bits);
            largest = Math.Max(Math.Abs(a), Math.Max(Math.Abs(b), Math.Abs(c)));
            int slot = Math.Abs(a) == largest ? 0 : Math.Abs(b) == largest ? 1 : 2;
            first = slot >= index ? slot + 1 : slot;
            rest = (2 * limit * limit) - (a * a) - (b * b) - (c * c) - ((limit + 1) / 8);
        }

        private static void MakeCanonical(int bits, ref int index, ref int a, ref int b, ref int c)
        {
            if (IsCanonical(index, a, b, c, bits))
            {
                return;
            }
            NearTie(index, a, b, c, bits, out long rest, out long largest, out int first);
            long omitted = largest;
            if (rest <= (largest * largest) - largest)
            {
                // The largest with rest > omitted^2 - omitted: the square root of rest, rounded to nearest.
                omitted = (long)Math.Sqrt(rest) + 1;
                while (rest <= (omitted * omitted) - omitted)
                {
                    omitted--;
                }
            }
            int x = index == 0 ? (int)omitted : a;
            int y = index == 0 ? a : index == 1 ? (int)omitted : b;
            int z = index <= 1 ? b : index == 2 ? (int)omitted : c;
            int w = index == 3 ? (int)omitted : c;
            int sign = (first == 0 ? x : first == 1 ? y : first == 2 ? z : w) < 0 ? -1 : 1;
            a = sign * (first == 0 ? y : x);
            b = sign * (first <= 1 ? z : y);
            c = sign * (first <= 2 ? w : z);
            index = first;
        }

        private static bool IsWithin(long component, long limit) => component >= -limit && component <= limit;

        /// <summary>Steps to the unit, such as 46339.53515625 for 16 bits.</summary>
        private static float Scale(int bits) => (float)(Limit(bits) / LargestKept);

        private static float SquaredLength(float x, float y, float z, float w)
        {
            float xx = (float)(x * x);
            float yy = (float)(y * y);
            float zz = (float)(z * z);
            float ww = (float)(w * w);
            float xy = (float)(xx + yy);
            float zw = (float)(zz + ww);
            return (float)(xy + zw);
        }

        /// <summary>
        /// A component in steps, halves to even. Written out, because Math.Round of Mono takes halves away from zero.
        /// </summary>
        private static int Steps(float component, float scale)
        {
            float product = (float)(component * scale);
            int whole = (int)product; // towards zero
            float rest = (float)(product - whole); // exact
            if (rest > 0.5f || (rest == 0.5f && (whole & 1) != 0))
            {
                return whole + 1;
            }
            return rest < -0.5f || (rest == -0.5f && (whole & 1) != 0) ? whole - 1 : whole;
        }
    }
}
