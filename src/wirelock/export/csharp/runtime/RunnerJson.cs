// JSON, hex and decimal numbers for the runner. No part of a client.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace NAMESPACE
{
    /// <summary>Writes JSON, with the commas that it needs.</summary>
    internal sealed class JsonText
    {
        private readonly StringBuilder text = new StringBuilder();
        private bool follows;

        public override string ToString() => text.ToString();

        internal void Open(char bracket)
        {
            Value(bracket.ToString());
            follows = false;
        }

        internal void Close(char bracket)
        {
            text.Append(bracket);
            follows = true;
        }

        internal void Key(string name)
        {
            Text(name);
            text.Append(": ");
            follows = false;
        }

        /// <summary>A value that <see cref="JsonReader"/> read.</summary>
        internal static string Of(object value)
        {
            var json = new JsonText();
            json.Tree(value);
            return json.ToString();
        }

        internal void Null() => Value("null");

        internal void Bool(bool value) => Value(value ? "true" : "false");

        internal void Integer(decimal value)
        {
            string digits = value.ToString(CultureInfo.InvariantCulture);
            Value(Math.Abs(value) > 1L << 53 ? "\"" + digits + "\"" : digits);
        }

        internal void Float(double value, int bits)
        {
            if (double.IsNaN(value) || double.IsInfinity(value))
            {
                Value("{\"bits\": \"" + Bits(value, bits) + "\"}");
                return;
            }
            string digits = Shortest(Math.Abs(value));
            string point = digits.IndexOfAny(new[] { '.', 'e' }) < 0 ? ".0" : "";
            Value((BitConverter.DoubleToInt64Bits(value) < 0 ? "-" : "") + digits + point);
        }

        internal void Bytes(byte[] value) => Text(Hex.Of(value ?? new byte[0]));

        internal void Text(string value)
        {
            var quoted = new StringBuilder("\"");
            foreach (char letter in value ?? "")
            {
                bool plain = letter >= ' ' && letter < 0x7F;
                quoted.Append(letter == '"' || letter == '\\' ? "\\" : "");
                quoted.Append(plain ? letter.ToString() : "\\u" + ((int)letter).ToString("x4"));
            }
            Value(quoted.Append('"').ToString());
        }

        private void Tree(object value)
        {
            if (value is List<object> list)
            {
                Open('[');
                list.ForEach(Tree);
                Close(']');
            }
            else if (value is JsonObject members)
            {
                Open('{');
                foreach (string name in members.Names)
                {
                    Key(name);
                    Tree(members[name]);
                }
                Close('}');
            }
            else if (value is string text)
            {
                Text(text);
            }
            else if (value is bool truth)
            {
                Bool(truth);
            }
            else
            {
                Value((value as JsonNumber)?.Text ?? "null");
            }
        }

        /// <summary>The fewest digits, of 15 to 17, that are this number and no other.</summary>
        private static string Shortest(double value)
        {
            string digits = "";
            for (int count = 15; count <= 17; count++)
            {
                digits = value.ToString("G" + count, CultureInfo.InvariantCulture).ToLowerInvariant();
                if (DecimalText.BitsOf(digits) == BitConverter.DoubleToInt64Bits(value))
                {
                    break;
                }
            }
            return digits;
        }

        private static string Bits(double value, int bits)
        {
            long wide = BitConverter.DoubleToInt64Bits(value);
            int fraction = bits == 64 ? 52 : bits == 32 ? 23 : 10;
            ulong exponent = bits == 64 ? 0x7FFUL : bits == 32 ? 0xFFUL : 0x1FUL;
            ulong payload = (unchecked((ulong)wide) & ((1UL << 52) - 1)) >> (52 - fraction);
            ulong sign = wide < 0 ? 1UL << (bits - 1) : 0;
            return (sign | (exponent << fraction) | payload).ToString("x" + (bits / 4));
        }

        private void Value(string value)
        {
            text.Append(follows ? ", " : "").Append(value);
            follows = true;
        }
    }

    /// <summary>Bytes as hex digits.</summary>
    internal static class Hex
    {
        internal static string Of(byte[] bytes)
        {
            var digits = new StringBuilder();
            foreach (byte octet in bytes)
            {
                digits.Append(octet.ToString("x2"));
            }
            return digits.ToString();
        }

        internal static byte[] Read(string digits)
        {
            var bytes = new byte[digits.Length / 2];
            for (int at = 0; at < bytes.Length; at++)
            {
                bytes[at] = Convert.ToByte(digits.Substring(2 * at, 2), 16);
            }
            return digits.Length % 2 == 0 ? bytes : throw new FormatException("an odd number of hex digits");
        }

        internal static float Float(string digits)
        {
            return BitConverter.Int32BitsToSingle(unchecked((int)Convert.ToUInt32(digits, 16)));
        }

        internal static string Of(float value) => BitConverter.SingleToInt32Bits(value).ToString("x8");
    }

    /// <summary>The first place where two JSON values differ, with what is there in each.</summary>
    internal sealed class JsonDifference
    {
        private static readonly JsonNumber Nothing = new JsonNumber("nothing"); // no JSON: it is written as it is

        private JsonDifference(string path, object found, object wanted)
        {
            Path = path;
            Found = found;
            Wanted = wanted;
        }

        internal string Path { get; }

        internal object Found { get; }

        internal object Wanted { get; }

        /// <summary>Return null for equal values: numbers by value, their signs and their kinds, integer or not.</summary>
        internal static JsonDifference Of(object found, object wanted, string path = "")
        {
            if (found is JsonObject members && wanted is JsonObject others)
            {
                return OfMembers(members, others, path);
            }
            if (found is List<object> list && wanted is List<object> items)
            {
                return OfItems(list, items, path);
            }
            bool same = found is JsonNumber left && wanted is JsonNumber right ? IsSame(left.Text, right.Text)
                : Equals(found, wanted);
            return same ? null : new JsonDifference(path, found, wanted);
        }

        /// <summary>The same for hex digits, whose path is the first byte that differs.</summary>
        internal static JsonDifference OfBytes(string found, string wanted)
        {
            int at = 0;
            while (at < found.Length && at < wanted.Length && found[at] == wanted[at])
            {
                at++;
            }
            return found == wanted ? null : new JsonDifference("byte " + (at / 2), found, wanted);
        }

        private static JsonDifference OfMembers(JsonObject found, JsonObject wanted, string path)
        {
            var names = new List<string>(found.Names);
            names.AddRange(wanted.Names.FindAll(name => !found.Has(name)));
            foreach (string name in names)
            {
                object left = found.Has(name) ? found[name] : Nothing;
                object right = wanted.Has(name) ? wanted[name] : Nothing;
                JsonDifference difference = Of(left, right, FaultSlot.Join(path, name));
                if (difference != null)
                {
                    return difference;
                }
            }
            return null;
        }

        private static JsonDifference OfItems(List<object> found, List<object> wanted, string path)
        {
            for (int at = 0; at < Math.Max(found.Count, wanted.Count); at++)
            {
                object left = at < found.Count ? found[at] : Nothing;
                object right = at < wanted.Count ? wanted[at] : Nothing;
                JsonDifference difference = Of(left, right, path + "[" + at + "]");
                if (difference != null)
                {
                    return difference;
                }
            }
            return null;
        }

        private static bool IsSame(string left, string right)
        {
            return left == right
                || (IsReal(left) && IsReal(right) && DecimalText.BitsOf(left) == DecimalText.BitsOf(right));
        }

        private static bool IsReal(string number) => number.IndexOfAny(new[] { '.', 'e', 'E' }) >= 0;
    }

    /// <summary>
    /// Decimal numbers as binary64. By integers alone: what the runtime parses is off in the last bits of some
    /// numbers, in Mono of subnormal ones. Naturals are bytes here, the lowest first.
    /// </summary>
    internal static class DecimalText
    {
        private const long Infinity = 0x7FFL << 52;

        /// <summary>The bits of the nearest binary64, halves to even, of a number as JSON has them.</summary>
        internal static long BitsOf(string number)
        {
            long sign = number[0] == '-' ? long.MinValue : 0;
            string[] parts = number.TrimStart('-').Split('e', 'E');
            int point = parts[0].IndexOf('.');
            string digits = parts[0].Replace(".", "").TrimStart('0');
            decimal power = point < 0 ? 0 : point + 1 - parts[0].Length;
            power += parts.Length == 1 ? 0 : Power(parts[1]);
            if (digits.Length == 0 || digits.Length + power < -330)
            {
                return sign;
            }
            if (digits.Length + power > 310)
            {
                return sign | Infinity;
            }
            var above = new List<byte>();
            foreach (char digit in digits)
            {
                Multiply(above, 10, (ulong)(digit - '0'));
            }
            var below = new List<byte> { 1 };
            for (int step = 0; step < Math.Abs(power); step++)
            {
                Multiply(power > 0 ? above : below, 10);
            }
            return sign | Nearest(above, below);
        }

        private static decimal Power(string text)
        {
            bool small = int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int power);
            return small ? power : text[0] == '-' ? int.MinValue : int.MaxValue;
        }

        /// <summary>The bits of the binary64 nearest to a fraction: the search is for the one below it.</summary>
        private static long Nearest(List<byte> above, List<byte> below)
        {
            long low = 0;
            long high = Infinity;
            while (high - low > 1)
            {
                long middle = low + ((high - low) / 2);
                if (Compare(above, below, Significand(middle), Exponent(middle)) >= 0)
                {
                    low = middle;
                }
                else
                {
                    high = middle;
                }
            }
            int half = Compare(above, below, (2 * Significand(low)) + 1, Exponent(low) - 1);
            return half > 0 || (half == 0 && low % 2 == 1) ? low + 1 : low;
        }

        private static ulong Significand(long bits)
        {
            ulong fraction = (ulong)bits & ((1UL << 52) - 1);
            return bits >> 52 == 0 ? fraction : fraction | (1UL << 52);
        }

        private static int Exponent(long bits) => (int)Math.Max(bits >> 52, 1) - 1075;

        /// <summary>Compare above / below with significand * 2^exponent.</summary>
        private static int Compare(List<byte> above, List<byte> below, ulong significand, int exponent)
        {
            List<byte> left = Shifted(above, Math.Max(-exponent, 0));
            List<byte> right = Shifted(below, Math.Max(exponent, 0));
            Multiply(right, significand);
            if (left.Count != right.Count)
            {
                return left.Count.CompareTo(right.Count);
            }
            int at = left.Count - 1;
            while (at > 0 && left[at] == right[at])
            {
                at--;
            }
            return at < 0 ? 0 : left[at].CompareTo(right[at]);
        }

        private static List<byte> Shifted(List<byte> natural, int bits)
        {
            var found = new List<byte>(new byte[bits / 8]);
            found.AddRange(natural);
            Multiply(found, 1UL << (bits % 8));
            return found;
        }

        /// <summary>Multiply by a factor below 2^55 and add a number; no byte 0 is left at the high end.</summary>
        private static void Multiply(List<byte> natural, ulong factor, ulong more = 0)
        {
            for (int at = 0; at < natural.Count; at++)
            {
                more += natural[at] * factor;
                natural[at] = (byte)(more & 0xFF);
                more >>= 8;
            }
            for (; more > 0; more >>= 8)
            {
                natural.Add((byte)(more & 0xFF));
            }
            while (natural.Count > 0 && natural[natural.Count - 1] == 0)
            {
                natural.RemoveAt(natural.Count - 1);
            }
        }
    }
}
