// Runs golden files and answers requests, to test the codecs beside it. No part of a client.
//
//     Runner golden FILE.json ...     prints TAP; exits with 1 if a case fails, with 2 for files that it cannot run
//     Runner lines                    answers one request a line
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text;

namespace NAMESPACE
{
    /// <summary>One version of a protocol, with the record that was read last.</summary>
    internal abstract class Codec
    {
        internal abstract int Version { get; }

        internal abstract bool TryParse(byte[] data, out Fault fault);

        internal abstract bool TryBuild(out byte[] bytes, out Fault fault);

        internal abstract void Tell(JsonText json);

        internal virtual bool TryFromQuaternion(float[] q) => throw new FormatException("the record has no pose");

        internal virtual float[] ToQuaternion() => throw new FormatException("the record has no pose");

        internal string Json()
        {
            var json = new JsonText();
            Tell(json);
            return json.ToString();
        }
    }

    /// <summary>One protocol. <c>newest</c> is the newest version that a peer knows.</summary>
    internal abstract class Codecs
    {
        internal abstract string Name { get; }

        internal abstract bool IsTagged { get; }

        internal abstract Codec[] Versions { get; }

        internal abstract bool TryReadVersion(byte[] data, int newest, out int version, out Fault fault);

        internal abstract Negotiation Negotiate(string hello);

        internal Codec Find(int version)
        {
            return Array.Find(Versions, codec => codec.Version == version)
                ?? throw new FormatException(Name + " has no version " + version);
        }

        /// <summary>Read a datagram by its tag, or as a version where there is none.</summary>
        internal bool TryReceive(byte[] data, int newest, int version, out Codec codec, out Fault fault)
        {
            codec = null;
            if (IsTagged && !TryReadVersion(data, newest, out version, out fault))
            {
                return false;
            }
            codec = Find(version);
            return codec.TryParse(data, out fault);
        }
    }

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
            string digits = Math.Abs(value).ToString("G17", CultureInfo.InvariantCulture).ToLowerInvariant();
            string point = digits.IndexOfAny(new[] { '.', 'e' }) < 0 ? ".0" : "";
            Value((BitConverter.DoubleToInt64Bits(value) < 0 ? "-" : "") + digits + point);
        }

        internal void Bytes(byte[] value) => Text(Hex.Of(value ?? new byte[0]));

        internal void Text(string value)
        {
            var quoted = new StringBuilder("\"");
            foreach (char letter in value ?? "")
            {
                bool plain = letter >= ' ' && letter < 0x7F && letter != '"' && letter != '\\';
                quoted.Append(plain ? letter.ToString() : "\\u" + ((int)letter).ToString("x4"));
            }
            Value(quoted.Append('"').ToString());
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

    /// <summary>Runs the cases of golden files.</summary>
    internal sealed class GoldenFiles
    {
        private readonly TextWriter output;
        private int count;

        internal GoldenFiles(TextWriter output)
        {
            this.output = output;
        }

        internal bool AllHold { get; private set; } = true;

        internal void Run(IEnumerable<string> paths)
        {
            output.Write("TAP version 14\n");
            foreach (string path in paths)
            {
                try
                {
                    Run(path);
                }
                catch (FormatException problem)
                {
                    throw new FormatException(path + ": " + problem.Message);
                }
            }
            output.Write("1.." + count + "\n");
        }

        private void Run(string path)
        {
            var file = JsonReader.Read(File.ReadAllText(path)) as JsonObject;
            if (file == null || !"wirelock-golden/1".Equals(file["format"]))
            {
                throw new FormatException("this is no golden file");
            }
            Codecs codecs = Runner.Find(Get<string>(file, "protocol"));
            int version = int.Parse(Get<JsonNumber>(file, "version").Text, CultureInfo.InvariantCulture);
            Codec codec = codecs.Find(version);
            string name = codecs.Name + "/v" + version + " ";
            foreach (object item in Get<List<object>>(file, "cases"))
            {
                Case(item as JsonObject ?? new JsonObject(), codecs, version, name);
            }
            foreach (object item in file["poses"] as List<object> ?? new List<object>())
            {
                Pose(item as JsonObject ?? new JsonObject(), codec, name);
            }
        }

        private void Case(JsonObject item, Codecs codecs, int version, string name)
        {
            name += Get<string>(item, "id") + " ";
            byte[] data = Hex.Read(Get<string>(item, "bytes"));
            bool read = codecs.TryReceive(data, version, version, out Codec codec, out Fault fault);
            if (item["error"] is JsonObject error)
            {
                string place = (error["byte"] as JsonNumber)?.Text ?? "none";
                string wanted = error["code"] + " at '" + error["path"] + "', byte " + place;
                string found = fault.Code + " at '" + fault.Path + "', byte " + (fault.Byte?.ToString() ?? "none");
                Tell(name + "invalid", read ? "a record" : found, wanted);
                return;
            }
            foreach (object promise in Get<List<object>>(item, "promises"))
            {
                string label = name + promise;
                if (!read)
                {
                    Tell(label, fault.ToString(), "a record");
                }
                else if ("decode-old".Equals(promise))
                {
                    string told = codec.Json();
                    string wanted = Text(item["record"]);
                    Tell(label, Same(JsonReader.Read(told), item["record"]) ? wanted : told, wanted);
                }
                else
                {
                    bool built = codec.TryBuild(out byte[] bytes, out Fault problem);
                    Tell(label, built ? Hex.Of(bytes) : problem.ToString(), Get<string>(item, "bytes"));
                }
            }
        }

        private void Pose(JsonObject item, Codec codec, string name)
        {
            string direction = Get<string>(item, "direction");
            string wanted;
            string found;
            if (item["error"] is JsonObject error)
            {
                wanted = Get<string>(error, "code");
            }
            else if (direction == "encode")
            {
                wanted = Get<string>(item, "bytes");
            }
            else
            {
                wanted = string.Join(" ", Words(Get<List<object>>(item, "quaternion")));
            }
            Fault fault;
            if (direction == "encode")
            {
                float[] q = Array.ConvertAll(Words(Get<List<object>>(item, "quaternion")), Hex.Float);
                found = !codec.TryFromQuaternion(q) ? FaultCode.OutOfRange
                    : codec.TryBuild(out byte[] bytes, out fault) ? Hex.Of(bytes) : fault.Code;
            }
            else
            {
                found = codec.TryParse(Hex.Read(Get<string>(item, "bytes")), out fault)
                    ? string.Join(" ", Array.ConvertAll(codec.ToQuaternion(), Hex.Of)) : fault.Code;
            }
            Tell(name + item["id"] + " " + direction, found, wanted);
        }

        private void Tell(string label, string found, string wanted)
        {
            count++;
            bool holds = found == wanted;
            output.Write((holds ? "ok " : "not ok ") + count + " - " + label + "\n");
            if (!holds)
            {
                AllHold = false;
                var quoted = new JsonText();
                quoted.Text(found);
                output.Write("  ---\n  found: " + quoted + "\n");
                quoted = new JsonText();
                quoted.Text(wanted);
                output.Write("  wanted: " + quoted + "\n  ...\n");
            }
        }

        private static string[] Words(List<object> list) => list.ConvertAll(item => item as string ?? "").ToArray();

        private static T Get<T>(JsonObject item, string name)
            where T : class
        {
            return item[name] as T ?? throw new FormatException("a golden file without its " + name);
        }

        private static bool Same(object left, object right)
        {
            if (left is JsonNumber number)
            {
                return right is JsonNumber other && Same(number.Text, other.Text);
            }
            if (left is List<object> list)
            {
                return right is List<object> items && SameItems(list, items);
            }
            if (left is JsonObject members)
            {
                return right is JsonObject others && members.Names.Count == others.Names.Count
                    && members.Names.TrueForAll(name => others.Has(name) && Same(members[name], others[name]));
            }
            return Equals(left, right);
        }

        private static bool SameItems(List<object> left, List<object> right)
        {
            for (int at = 0; at < left.Count && left.Count == right.Count; at++)
            {
                if (!Same(left[at], right[at]))
                {
                    return false;
                }
            }
            return left.Count == right.Count;
        }

        /// <summary>Integers by their digits, others by their binary64, of which the sign is looked at apart.</summary>
        private static bool Same(string left, string right)
        {
            return left == right
                || (IsReal(left) && IsReal(right) && left[0] == '-' == (right[0] == '-') && Real(left) == Real(right));
        }

        private static double Real(string number) => double.Parse(number, CultureInfo.InvariantCulture);

        private static bool IsReal(string number) => number.IndexOfAny(new[] { '.', 'e', 'E' }) >= 0;

        private static string Text(object value)
        {
            var json = new JsonText();
            Write(json, value);
            return json.ToString();
        }

        private static void Write(JsonText json, object value)
        {
            if (value is List<object> list)
            {
                json.Open('[');
                list.ForEach(item => Write(json, item));
                json.Close(']');
            }
            else if (value is JsonObject members)
            {
                json.Open('{');
                foreach (string name in members.Names)
                {
                    json.Key(name);
                    Write(json, members[name]);
                }
                json.Close('}');
            }
            else if (value is bool truth)
            {
                json.Bool(truth);
            }
            else if (value == null)
            {
                json.Null();
            }
            else
            {
                json.Text((value as JsonNumber)?.Text ?? (string)value);
            }
        }
    }

    /// <summary>The command.</summary>
    internal static partial class Runner
    {
        internal static Codecs Find(string name)
        {
            return Array.Find(All, codecs => codecs.Name == name)
                ?? throw new FormatException("there is no protocol " + name);
        }

        private static int Main(string[] arguments)
        {
            using (var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)))
            {
                try
                {
                    if (arguments.Length == 1 && arguments[0] == "lines")
                    {
                        Answer(output);
                        return 0;
                    }
                    if (arguments.Length > 1 && arguments[0] == "golden")
                    {
                        var golden = new GoldenFiles(output);
                        golden.Run(new ArraySegment<string>(arguments, 1, arguments.Length - 1));
                        return golden.AllHold ? 0 : 1;
                    }
                    Console.Error.WriteLine("usage: golden FILE.json ... | lines");
                }
                catch (Exception problem) when (problem is FormatException || problem is IOException
                    || problem is UnauthorizedAccessException)
                {
                    Console.Error.WriteLine(problem.Message);
                }
                return 2;
            }
        }

        private static void Answer(TextWriter output)
        {
            using (var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false)))
            {
                for (string line = input.ReadLine(); line != null; line = input.ReadLine())
                {
                    output.Write(Answer(line.Split(new[] { ' ' }, 3)) + "\n");
                    output.Flush();
                }
            }
        }

        private static string Answer(string[] words)
        {
            switch (words[0])
            {
                case "parse":
                    string[] name = words[1].Split('/');
                    Codec codec = Find(name[0]).Find(int.Parse(name[1].Substring(1), CultureInfo.InvariantCulture));
                    return codec.TryParse(Bytes(words[2]), out Fault fault) ? "ok " + Told(codec) : Told(fault);
                case "receive":
                    bool read = Find(words[1]).TryReceive(Bytes(words[2]), int.MaxValue, 0, out codec, out fault);
                    return read ? "ok " + codec.Version + " " + Told(codec) : Told(fault);
                case "negotiate":
                    Negotiation found = Find(words[1]).Negotiate(words[2]);
                    string path = found.Disagreements.Count == 0 ? "-" : found.Disagreements[0].Path;
                    return found.Version == null ? "fault " + path : "ok " + found.Version;
                default:
                    return Pose(words);
            }
        }

        private static string Told(Codec codec)
        {
            return codec.TryBuild(out byte[] bytes, out Fault fault)
                ? Dashed(Hex.Of(bytes)) + " " + codec.Json() : "not built: " + fault;
        }

        private static string Told(Fault fault)
        {
            string place = fault.Byte?.ToString() ?? "-";
            string bit = fault.Bit?.ToString() ?? "-";
            return "fault " + fault.Code + " " + place + " " + bit + " " + Dashed(fault.Path);
        }

        private static byte[] Bytes(string digits) => Hex.Read(digits == "-" ? "" : digits);

        private static string Dashed(string text) => text.Length == 0 ? "-" : text;
//> pose

        private static string Pose(string[] words)
        {
            int bits = int.Parse(words[1], CultureInfo.InvariantCulture);
            string[] rest = words[2].Split(' ');
            bool canonical = rest[0] == "1";
            if (words[0] == "encode")
            {
                bool packed = SmallestThree.TryEncode(
                    Hex.Float(rest[1]), Hex.Float(rest[2]), Hex.Float(rest[3]), Hex.Float(rest[4]),
                    bits, canonical, out int index, out int a, out int b, out int c);
                return packed ? "ok " + index + " " + a + " " + b + " " + c : "fault " + FaultCode.OutOfRange;
            }
            int[] packet = Array.ConvertAll(rest, int.Parse);
            bool done = SmallestThree.TryDecode(
                packet[1], packet[2], packet[3], packet[4], bits, canonical,
                out float x, out float y, out float z, out float w, out Fault fault);
            string[] told = Array.ConvertAll(new[] { x, y, z, w }, Hex.Of);
            return done ? "ok " + string.Join(" ", told) : "fault " + fault.Code;
        }
//<
//> no_pose

        private static string Pose(string[] words) => throw new FormatException("no request: " + words[0]);
//<
    }
}
