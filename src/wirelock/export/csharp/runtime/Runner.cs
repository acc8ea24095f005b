// Runs golden files and answers requests, to test the codecs beside it. No part of a client.
//
//     Runner golden FILE.json ...     prints TAP; exits with 1 if a case fails, with 2 for files that it cannot run
//     Runner lines                    answers one request a line
using System;
using System.Globalization;
using System.IO;
using System.Text;

namespace NAMESPACE
{
    /// <summary>One version of a protocol, with the record that was read last.</summary>
    internal abstract class Codec
    {
        internal abstract int Version { get; }

        internal abstract string Digest { get; }

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
                ?? throw new FormatException("the codec's " + Name + " has no version " + version + ": it has "
                    + string.Join(", ", Array.ConvertAll(Versions, codec => codec.Version)));
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

    /// <summary>The command.</summary>
    internal static partial class Runner
    {
        internal static Codecs Find(string name)
        {
            return Array.Find(All, codecs => codecs.Name == name)
                ?? throw new FormatException("the codec has no protocol " + name + ": it has "
                    + string.Join(", ", Array.ConvertAll(All, codecs => codecs.Name)));
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
                        return golden.ExitCode;
                    }
                    Console.Error.WriteLine("usage: golden FILE.json ... | lines");
                }
                catch (Exception problem) when (problem is FormatException || problem is IOException)
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
