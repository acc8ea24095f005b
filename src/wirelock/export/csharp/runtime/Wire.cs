// What the codecs call: bytes read and written, integers of odd widths, and what C# has no function for.
using System;
using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;

namespace NAMESPACE
{
    /// <summary>A datagram that is read. Positions are bytes from its start.</summary>
    internal ref struct Reader
    {
        internal readonly ReadOnlySpan<byte> Data;
        internal FaultSlot Faults;

        /// <summary>The byte behind the record that was read last.</summary>
        internal int Next;

        internal Reader(ReadOnlySpan<byte> data)
        {
            if (data.Length > Wire.LargestSize)
            {
                throw new ArgumentException("more than 512 MiB", nameof(data));
            }
            Data = data;
            Faults = default(FaultSlot);
            Next = 0;
        }

        /// <summary>End a record at a byte. Returns true.</summary>
        internal bool Done(int next)
        {
            Next = next;
            return true;
        }

        /// <summary>Hand out the fault of a record that should be all of the data; returns whether it is one.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal bool Finish(bool read, out Fault fault)
        {
            if (read && Next != Data.Length)
            {
                Faults.Fail(FaultCode.TrailingBytes, "", Next);
            }
            return Faults.Finish(out fault);
        }
    }

    /// <summary>Bytes that are written: into the caller's, or into an array that grows.</summary>
    internal ref struct Writer
    {
        internal FaultSlot Faults;

        /// <summary>Where to write; it may be another place after a call that makes room.</summary>
        internal Span<byte> Bytes;

        private readonly bool grows;
        private byte[] own;

        internal Writer(Span<byte> destination)
        {
            Bytes = destination;
            Faults = default(FaultSlot);
            Length = 0;
            grows = false;
            own = null;
        }

        internal Writer(int capacity)
        {
            own = new byte[capacity];
            Bytes = own;
            Faults = default(FaultSlot);
            Length = 0;
            grows = true;
        }

        /// <summary>How many bytes are written or reserved.</summary>
        internal int Length { get; private set; }

        /// <summary>Make room for so many zero bytes, from byte <paramref name="at"/> on.</summary>
        internal bool Reserve(long size, out int at)
        {
            at = Length;
            if (size > Bytes.Length - Length)
            {
                if (!grows || size > Wire.LargestSize - Length)
                {
                    return Faults.Fail(FaultCode.NoSpace, "");
                }
                Array.Resize(ref own, (int)Math.Min(Wire.LargestSize, Math.Max(2L * own.Length, Length + size)));
                Bytes = own;
            }
            Bytes.Slice(Length, (int)size).Clear();
            Length += (int)size;
            return true;
        }

        /// <summary>The bytes that were written.</summary>
        internal byte[] ToArray() => Bytes.Slice(0, Length).ToArray();
//> varint

        /// <summary>Write an integer with seven bits a byte, least significant first.</summary>
        internal bool PutVarint(ulong raw)
        {
            if (!Reserve(Wire.VarintSize(raw), out int at))
            {
                return false;
            }
            while (raw > 0x7F)
            {
                Bytes[at++] = unchecked((byte)(raw | 0x80));
                raw >>= 7;
            }
            Bytes[at] = (byte)raw;
            return true;
        }

        /// <summary>Write such an integer before what was written from a byte on.</summary>
        internal bool InsertVarint(int start, ulong raw)
        {
            int size = Length - start;
            if (!Reserve(Wire.VarintSize(raw), out int end))
            {
                return false;
            }
            Bytes.Slice(start, size).CopyTo(Bytes.Slice(start + Length - end));
            Length = start;
            PutVarint(raw);
            Length += size;
            return true;
        }
//<
    }

    /// <summary>Functions of the codecs.</summary>
    internal static class Wire
    {
        /// <summary>The largest datagram, in bytes: so that positions can be added without a check.</summary>
        internal const int LargestSize = 1 << 29;

        internal static int Count<T>(T[] list) => list == null ? 0 : list.Length;
//> extend

        /// <summary>Make room for one more element behind so many; the list is cut to its size afterwards.</summary>
        internal static void Extend<T>(ref T[] list, ref int size)
        {
            if (size >= Count(list))
            {
                Array.Resize(ref list, Math.Max(4, 2 * size));
            }
            size++;
        }

        /// <summary>Cut a list that was extended to its size.</summary>
        internal static void Trim<T>(ref T[] list, int size) => Array.Resize(ref list, size);
//<
//> equal

        internal static bool Same(ReadOnlySpan<byte> bytes, byte[] octets) => bytes.SequenceEqual(octets);
//<
//> floor

        /// <summary>Division that rounds down, by a positive divisor.</summary>
        internal static long FloorDivide(long value, long divisor)
        {
            long quotient = value / divisor;
            return value % divisor < 0 ? quotient - 1 : quotient;
        }

        /// <summary>What <see cref="FloorDivide"/> leaves: never negative.</summary>
        internal static long FloorModulo(long value, long divisor)
        {
            long rest = value % divisor;
            return rest < 0 ? rest + divisor : rest;
        }
//<
//> odd_load

        internal static ulong ReadUIntLittleEndian(ReadOnlySpan<byte> bytes)
        {
            ulong value = 0;
            for (int at = bytes.Length - 1; at >= 0; at--)
            {
                value = (value << 8) | bytes[at];
            }
            return value;
        }

        internal static ulong ReadUIntBigEndian(ReadOnlySpan<byte> bytes)
        {
            ulong value = 0;
            for (int at = 0; at < bytes.Length; at++)
            {
                value = (value << 8) | bytes[at];
            }
            return value;
        }

        internal static long ReadIntLittleEndian(ReadOnlySpan<byte> bytes)
        {
            int above = 64 - (8 * bytes.Length);
            return unchecked((long)(ReadUIntLittleEndian(bytes) << above)) >> above;
        }

        internal static long ReadIntBigEndian(ReadOnlySpan<byte> bytes)
        {
            int above = 64 - (8 * bytes.Length);
            return unchecked((long)(ReadUIntBigEndian(bytes) << above)) >> above;
        }
//<
//> odd_store

        internal static void WriteLittleEndian(Span<byte> bytes, ulong value)
        {
            for (int at = 0; at < bytes.Length; at++)
            {
                bytes[at] = unchecked((byte)value);
                value >>= 8;
            }
        }

        internal static void WriteBigEndian(Span<byte> bytes, ulong value)
        {
            for (int at = bytes.Length - 1; at >= 0; at--)
            {
                bytes[at] = unchecked((byte)value);
                value >>= 8;
            }
        }
//<
//> half

        /// <summary>The binary32 with the value of a binary16; a NaN keeps its payload.</summary>
        internal static float HalfToSingle(int bits)
        {
            int sign = (bits & 0x8000) << 16;
            int exponent = (bits >> 10) & 0x1F;
            int fraction = bits & 0x3FF;
            if (exponent == 0x1F)
            {
                return BitConverter.Int32BitsToSingle(sign | 0x7F800000 | (fraction << 13));
            }
            if (exponent == 0)
            {
                float small = fraction * (1f / (1 << 24)); // exact
                return sign == 0 ? small : -small;
            }
            return BitConverter.Int32BitsToSingle(sign | ((exponent + 112) << 23) | (fraction << 13));
        }

        /// <summary>The binary16 with the value of a binary32 that has one.</summary>
        internal static int SingleToHalf(float value)
        {
            int bits = BitConverter.SingleToInt32Bits(value);
            int sign = (bits >> 16) & 0x8000;
            int exponent = (bits >> 23) & 0xFF;
            int fraction = bits & 0x7FFFFF;
            if (exponent == 0xFF)
            {
                return sign | 0x7C00 | (fraction >> 13);
            }
            if (exponent > 142)
            {
                return sign | 0x7C00; // too large
            }
            if (exponent > 112)
            {
                return sign | ((exponent - 112) << 10) | (fraction >> 13);
            }
            return exponent < 103 ? sign : sign | ((fraction | 0x800000) >> (126 - exponent));
        }
//<
//> float_fits

        /// <summary>Whether a number is the same, bit for bit, at a width of the wire: no signalling NaN is.</summary>
        internal static bool FloatFits(float value, int bits)
        {
            int own = BitConverter.SingleToInt32Bits(value);
            if (float.IsNaN(value) && (own & 0x400000) == 0)
            {
                return false;
            }
//> half
            if (bits == 16)
            {
                return BitConverter.SingleToInt32Bits(HalfToSingle(SingleToHalf(value))) == own;
            }
//<
            return true;
        }

        /// <summary>The same for a binary64, which is one on the wire.</summary>
        internal static bool FloatFits(double value, int bits)
        {
            return !double.IsNaN(value) || (BitConverter.DoubleToInt64Bits(value) & (1L << 51)) != 0;
        }
//<
//> scaled_of scaled_fits scaled_raw

        /// <summary>The number that an integer of the wire stands for; only the division rounds.</summary>
        internal static double ScaledOf(long raw, long multiply, long add, long divide)
        {
            return (double)((double)((raw * multiply) + add) / divide);
        }
//<
//> scaled_fits scaled_raw

        /// <summary>Whether an integer from low to high stands for exactly this number.</summary>
        internal static bool ScaledFits(double value, long multiply, long add, long divide, decimal low, decimal high)
        {
            double steps = (double)((double)((double)(value * divide) - add) / multiply);
            if (!(Math.Abs(steps) < (double)(1L << 53)))
            {
                return false;
            }
            long raw = HalfEven(steps);
            if (Math.Abs(((decimal)raw * multiply) + add) >= 1L << 53 || raw < low || raw > high)
            {
                return false;
            }
            double exact = ScaledOf(raw, multiply, add, divide);
            return BitConverter.DoubleToInt64Bits(exact) == BitConverter.DoubleToInt64Bits(value);
        }

        /// <summary>That integer.</summary>
        internal static long ScaledRaw(double value, long multiply, long add, long divide)
        {
            return HalfEven((double)((double)((double)(value * divide) - add) / multiply));
        }

        private static long HalfEven(double value)
        {
            long whole = (long)value; // towards zero
            double rest = (double)(value - whole); // exact
            if (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0))
            {
                return whole + 1;
            }
            return rest < -0.5 || (rest == -0.5 && (whole & 1) != 0) ? whole - 1 : whole;
        }
//<
//> find_mark contains_mark

        /// <summary>The byte at which a mark lies first, in steps of its length from <c>at</c>, or -1.</summary>
        internal static int FindMark(ReadOnlySpan<byte> data, int at, int end, byte[] mark)
        {
            for (; mark.Length <= end - at; at += mark.Length)
            {
                if (data.Slice(at, mark.Length).SequenceEqual(mark))
                {
                    return at;
                }
            }
            return -1;
        }
//<
//> ends_in_nuls

        /// <summary>Whether the last so many bytes are there and all zero.</summary>
        internal static bool EndsInNuls(ReadOnlySpan<byte> bytes, int unit)
        {
            if (bytes.Length < unit)
            {
                return false;
            }
            foreach (byte octet in bytes.Slice(bytes.Length - unit))
            {
                if (octet != 0)
                {
                    return false;
                }
            }
            return true;
        }
//<
//> strip_nuls

        /// <summary>The end without the NULs there, which are taken off in units of so many bytes.</summary>
        internal static int StripNuls(ReadOnlySpan<byte> data, int at, int end, int unit)
        {
            int last = end;
            while (last > at && data[last - 1] == 0)
            {
                last--;
            }
            return Math.Min(end, at + ((last - at + unit - 1) / unit * unit));
        }
//<
//> filled

        /// <summary>The first byte that is not the pattern, or <paramref name="end"/>.</summary>
        internal static int Filled(ReadOnlySpan<byte> data, int at, int end, byte pattern)
        {
            while (at < end && data[at] == pattern)
            {
                at++;
            }
            return at;
        }
//<
//> varint

        /// <summary>Read an integer with seven bits a byte, and move behind it, or say why there is none.</summary>
        internal static bool ReadVarint(ReadOnlySpan<byte> data, ref int at, int end, out ulong raw, out string code)
        {
            raw = 0;
            for (int count = 0; count < 10; count++)
            {
                if (count >= end - at)
                {
                    code = FaultCode.Truncated;
                    return false;
                }
                byte octet = data[at + count];
                if (octet < 0x80)
                {
                    bool large = count == 9 && octet > 1;
                    code = large ? FaultCode.TooLarge : FaultCode.NotCanonical;
                    if (large || (octet == 0 && count > 0))
                    {
                        return false;
                    }
                    raw |= (ulong)octet << (7 * count);
                    at += count + 1;
                    return true;
                }
                raw |= (ulong)(octet & 0x7F) << (7 * count);
            }
            code = FaultCode.TooLarge;
            return false;
        }

        /// <summary>The signed integer that an unsigned one stands for: 0, -1, 1, -2 for 0, 1, 2, 3.</summary>
        internal static long FromZigzag(ulong raw) => unchecked((long)(raw >> 1) ^ -(long)(raw & 1));

        /// <summary>The unsigned integer that stands for a signed one.</summary>
        internal static ulong ToZigzag(long value) => unchecked((ulong)((value << 1) ^ (value >> 63)));
//<
//> varint varint_size

        /// <summary>How many bytes of seven bits an integer takes: 1 to 10.</summary>
        internal static int VarintSize(ulong raw)
        {
            int size = 1;
            while (raw > 0x7F)
            {
                raw >>= 7;
                size++;
            }
            return size;
        }
//<
//> text

        private static readonly Encoding Utf32BigEndian = new UTF32Encoding(true, false);

        /// <summary>How many characters (code points) a text has.</summary>
        internal static int CodePoints(string text)
        {
            int count = 0;
            for (int at = 0; at < Length(text); at++)
            {
                count++;
                if (char.IsHighSurrogate(text[at]) && at + 1 < text.Length && char.IsLowSurrogate(text[at + 1]))
                {
                    at++;
                }
            }
            return count;
        }

        internal static int Length(string text) => text == null ? 0 : text.Length;

        /// <summary>0 for text; 1 for other bytes; 2 for text that would be written otherwise or not at all.</summary>
        internal static int TextCode(ReadOnlySpan<byte> bytes, string encoding, bool closed)
        {
            bool canonical = true;
            for (int at = 0; at < bytes.Length;)
            {
                bool first = at == 0;
                int point = NextPoint(bytes, encoding, ref at);
                if (point < 0)
                {
                    return 1;
                }
                canonical &= !(point >= 0xD800 && point < 0xE000)
                    && !(first && point == 0xFEFF)
                    && !(closed && point == 0);
            }
            return canonical ? 0 : 2;
        }

        /// <summary>How many bytes a text takes; -1 where it cannot be encoded.</summary>
        internal static long TextSize(string text, string encoding)
        {
            long size = 0;
            for (int at = 0; at < Length(text); at++)
            {
                char letter = text[at];
                bool pair = char.IsHighSurrogate(letter) && at + 1 < text.Length && char.IsLowSurrogate(text[at + 1]);
                if ((char.IsSurrogate(letter) && !pair) || (encoding == "ascii" && letter > 0x7F))
                {
                    return -1;
                }
                at += pair ? 1 : 0;
                switch (encoding)
                {
                    case "ascii":
                        size += 1;
                        break;
                    case "utf-8":
                        size += pair ? 4 : letter > 0x7FF ? 3 : letter > 0x7F ? 2 : 1;
                        break;
                    case "utf-16-le":
                    case "utf-16-be":
                        size += pair ? 4 : 2;
                        break;
                    default:
                        size += 4;
                        break;
                }
            }
            return size;
        }

        /// <summary>Whether a text can be encoded, and is read back as itself.</summary>
        internal static bool TextFits(string text, string encoding, bool closed)
        {
            return TextSize(text, encoding) >= 0
                && !(Length(text) > 0 && text[0] == '\uFEFF')
                && !(closed && Length(text) > 0 && text.IndexOf('\0') >= 0);
        }

        /// <summary>Bytes that are text, as text.</summary>
        internal static string TextOf(ReadOnlySpan<byte> bytes, string encoding)
        {
            return EncodingOf(encoding).GetString(bytes);
        }

        /// <summary>Write a text that fits into room for it.</summary>
        internal static void PutText(Span<byte> room, string text, string encoding)
        {
            if (Length(text) > 0)
            {
                EncodingOf(encoding).GetBytes(text.AsSpan(), room);
            }
        }

        /// <summary>A text in its encoding.</summary>
        internal static byte[] BytesOf(string text, string encoding) => EncodingOf(encoding).GetBytes(text ?? "");

        private static Encoding EncodingOf(string name)
        {
            switch (name)
            {
                case "ascii":
                    return Encoding.ASCII;
                case "utf-8":
                    return Encoding.UTF8;
                case "utf-16-le":
                    return Encoding.Unicode;
                case "utf-16-be":
                    return Encoding.BigEndianUnicode;
                case "utf-32-le":
                    return Encoding.UTF32;
                default:
                    return Utf32BigEndian;
            }
        }

        /// <summary>The next code point, a surrogate too where it stands alone; -1 for what is none.</summary>
        private static int NextPoint(ReadOnlySpan<byte> bytes, string encoding, ref int at)
        {
            int left = bytes.Length - at;
            switch (encoding)
            {
                case "ascii":
                    return bytes[at] < 0x80 ? bytes[at++] : -1;
                case "utf-8":
                    return NextUtf8(bytes, ref at);
                case "utf-16-le":
                case "utf-16-be":
                    if (left < 2)
                    {
                        return -1;
                    }
                    int unit = Unit16(bytes, encoding, at);
                    at += 2;
                    if ((unit & 0xFC00) == 0xD800 && left >= 4 && (Unit16(bytes, encoding, at) & 0xFC00) == 0xDC00)
                    {
                        int low = Unit16(bytes, encoding, at);
                        at += 2;
                        return 0x10000 + ((unit & 0x3FF) << 10) + (low & 0x3FF);
                    }
                    return unit;
                default:
                    if (left < 4)
                    {
                        return -1;
                    }
                    uint point = encoding == "utf-32-le"
                        ? BinaryPrimitives.ReadUInt32LittleEndian(bytes.Slice(at))
                        : BinaryPrimitives.ReadUInt32BigEndian(bytes.Slice(at));
                    at += 4;
                    return point <= 0x10FFFF ? (int)point : -1;
            }
        }

        private static int Unit16(ReadOnlySpan<byte> bytes, string encoding, int at)
        {
            return encoding == "utf-16-le"
                ? BinaryPrimitives.ReadUInt16LittleEndian(bytes.Slice(at))
                : BinaryPrimitives.ReadUInt16BigEndian(bytes.Slice(at));
        }

        private static int NextUtf8(ReadOnlySpan<byte> bytes, ref int at)
        {
            int point = bytes[at++];
            if (point < 0x80)
            {
                return point;
            }
            int more = point >= 0xF0 ? 3 : point >= 0xE0 ? 2 : 1;
            if (point < 0xC2 || point > 0xF4 || more > bytes.Length - at)
            {
                return -1;
            }
            point &= 0x3F >> more;
            for (int number = 0; number < more; number++)
            {
                int octet = bytes[at++];
                if ((octet & 0xC0) != 0x80)
                {
                    return -1;
                }
                point = (point << 6) | (octet & 0x3F);
            }
            bool shortest = more == 1 || (more == 2 ? point >= 0x800 : point >= 0x10000 && point <= 0x10FFFF);
            return shortest ? point : -1;
        }
//<
    }
//> tag

    /// <summary>A constant field of a tag: where it lies, and which bits of its bytes are its own.</summary>
    internal sealed class TagField
    {
        private readonly string label;
        private readonly int at;
        private readonly int size;
        private readonly int bit;
        private readonly byte[] mask;
        private readonly bool isVersion;

        internal TagField(string label, int at, int size, int bit, byte[] mask, bool isVersion)
        {
            this.label = label;
            this.at = at;
            this.size = size;
            this.bit = bit;
            this.mask = mask;
            this.isVersion = isVersion;
        }

        /// <summary>Say why data does not begin with a tag; <paramref name="known"/> is one of ours.</summary>
        internal static Fault FaultOf(ReadOnlySpan<byte> data, byte[] known, TagField[] fields)
        {
            foreach (TagField field in fields)
            {
                int end = field.at + field.size;
                if (data.Length < end)
                {
                    ReadOnlySpan<byte> found = data.Slice(field.at);
                    bool ours = field.isVersion || found.SequenceEqual(known.AsSpan(field.at, found.Length));
                    return new Fault(ours ? FaultCode.Truncated : FaultCode.Foreign, field.label, field.at, field.bit);
                }
                if (field.isVersion)
                {
                    return new Fault(FaultCode.UnknownVersion, field.label, field.at, field.bit);
                }
                for (int number = field.at; number < end; number++)
                {
                    int own = field.mask == null ? 0xFF : field.mask[number - field.at];
                    if (((data[number] ^ known[number]) & own) != 0)
                    {
                        return new Fault(FaultCode.Foreign, field.label, field.at, field.bit);
                    }
                }
            }
            return default(Fault);
        }
    }
//<
}
