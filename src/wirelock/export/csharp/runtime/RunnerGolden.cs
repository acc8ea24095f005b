// Runs the cases of golden files and prints TAP, version 14. No part of a client.
using System;
using System.Collections.Generic;
using System.IO;

namespace NAMESPACE
{
    /// <summary>Runs the cases of golden files.</summary>
    internal sealed class GoldenFiles
    {
        private readonly TextWriter output;
        private int count;

        internal GoldenFiles(TextWriter output)
        {
            this.output = output;
        }

        /// <summary>0 if all cases hold, 1 if one does not, 2 if a file could not be run.</summary>
        internal int ExitCode { get; private set; }

        internal void Run(IEnumerable<string> paths)
        {
            output.Write("TAP version 14\n");
            foreach (string path in paths)
            {
                try
                {
                    Run(path);
                }
                catch (Exception problem) when (problem is FormatException || problem is IOException
                    || problem is UnauthorizedAccessException)
                {
                    ExitCode = 2;
                    Console.Error.WriteLine(path + ": " + problem.Message);
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
            if (!int.TryParse(Get<JsonNumber>(file, "version").Text, out int version))
            {
                throw new FormatException("the version is no number of one");
            }
            Codec codec = codecs.Find(version);
            string name = codecs.Name + "/v" + version + " ";
            int before = count;
            if (file["digest"] is string digest && digest != codec.Digest)
            {
                Tell(name + "digest", codec.Digest, digest);
            }
            foreach (object item in Get<List<object>>(file, "cases"))
            {
                Case(item as JsonObject ?? new JsonObject(), codecs, version, name);
            }
            foreach (object item in file["poses"] as List<object> ?? new List<object>())
            {
                Pose(item as JsonObject ?? new JsonObject(), codec, name);
            }
            if (count == before)
            {
                throw new FormatException("the file has no case");
            }
        }

        private void Case(JsonObject item, Codecs codecs, int version, string name)
        {
            name += Get<string>(item, "id") + " ";
            byte[] data = Hex.Read(Get<string>(item, "bytes"));
            bool read = codecs.TryReceive(data, version, version, out Codec codec, out Fault fault);
            if (item["error"] is JsonObject error)
            {
                Tell(name + "invalid", read ? Record(codec) : Place(fault), Place(error));
                return;
            }
            foreach (object promise in Get<List<object>>(item, "promises"))
            {
                if (!"decode-old".Equals(promise) && !"encode-exact".Equals(promise))
                {
                    throw new FormatException(item["id"] + " has an unknown promise, " + promise);
                }
                object found = read ? Record(codec) : Place(fault);
                JsonDifference difference = JsonDifference.Of(found, item["record"]);
                if (difference == null && "encode-exact".Equals(promise))
                {
                    // The record in memory is that of the file, so these are the bytes of the file's record.
                    string wanted = Get<string>(item, "bytes");
                    difference = codec.TryBuild(out byte[] bytes, out Fault problem)
                        ? JsonDifference.OfBytes(Hex.Of(bytes), wanted) : JsonDifference.Of(Place(problem), wanted);
                }
                Tell(name + promise, difference);
            }
        }

        private void Pose(JsonObject item, Codec codec, string name)
        {
            string direction = Get<string>(item, "direction");
            object wanted;
            object found;
            Fault fault;
            if (direction == "encode")
            {
                float[] q = Get<List<object>>(item, "quaternion").ConvertAll(word => Hex.Float((string)word)).ToArray();
                found = !codec.TryFromQuaternion(q) ? FaultCode.OutOfRange
                    : codec.TryBuild(out byte[] bytes, out fault) ? Hex.Of(bytes) : fault.Code;
                wanted = item["bytes"];
            }
            else if (codec.TryParse(Hex.Read(Get<string>(item, "bytes")), out fault))
            {
                found = new List<object>(Array.ConvertAll(codec.ToQuaternion(), Hex.Of));
                wanted = item["quaternion"];
            }
            else
            {
                found = fault.Code;
                wanted = item["quaternion"];
            }
            Tell(name + item["id"] + " " + direction, found, item["error"] is JsonObject error ? error["code"] : wanted);
        }

        private void Tell(string label, object found, object wanted) => Tell(label, JsonDifference.Of(found, wanted));

        private void Tell(string label, JsonDifference difference)
        {
            count++;
            output.Write((difference == null ? "ok " : "not ok ") + count + " - " + label + "\n");
            if (difference == null)
            {
                return;
            }
            ExitCode = Math.Max(ExitCode, 1);
            output.Write("  ---\n" + (difference.Path.Length == 0 ? "" : "  path: " + JsonText.Of(difference.Path) + "\n"));
            output.Write("  found: " + JsonText.Of(difference.Found) + "\n");
            output.Write("  wanted: " + JsonText.Of(difference.Wanted) + "\n  ...\n");
        }

        private static object Record(Codec codec) => JsonReader.Read(codec.Json());

        private static JsonObject Place(Fault fault)
        {
            var found = new JsonObject();
            found.Set("code", fault.Code);
            found.Set("path", fault.Path);
            found.Set("byte", fault.Byte == null ? null : new JsonNumber(fault.Byte.ToString()));
            return found;
        }

        private static JsonObject Place(JsonObject error)
        {
            var found = new JsonObject();
            foreach (string name in new[] { "code", "path", "byte" })
            {
                found.Set(name, error[name]);
            }
            return found;
        }

        private static T Get<T>(JsonObject item, string name)
            where T : class
        {
            return item[name] as T ?? throw new FormatException("a golden file without its " + name);
        }
    }
}
