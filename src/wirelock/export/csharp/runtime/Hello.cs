// Which versions two peers speak, and which of them they have alike.
using System;
using System.Collections.Generic;

namespace NAMESPACE
{
    /// <summary>A version that both peers speak, but not alike.</summary>
    public readonly struct Disagreement
    {
        internal Disagreement(int version, string path)
        {
            Version = version;
            Path = path;
        }

        /// <summary>The version.</summary>
        public int Version { get; }

        /// <summary>The first part that differs, in wire order: a field, a rule or <c>the record</c>.</summary>
        public string Path { get; }

        /// <inheritdoc/>
        public override string ToString() => "v" + Version + " differs" + (Path.Length == 0 ? "" : " at " + Path);
    }

    /// <summary>What became of a hello.</summary>
    public sealed class Negotiation
    {
        internal Negotiation(int? version, IReadOnlyList<Disagreement> disagreements, string problem)
        {
            Version = version;
            Disagreements = disagreements;
            Problem = problem;
        }

        /// <summary>The highest version that both have alike; null if there is none.</summary>
        public int? Version { get; }

        /// <summary>The higher versions that both speak, but not alike, the highest first.</summary>
        public IReadOnlyList<Disagreement> Disagreements { get; }

        /// <summary>Why there is no version, in words; empty if there is one.</summary>
        public string Problem { get; }
    }

    /// <summary>What a peer says of itself: the protocol and its versions, newest first.</summary>
    internal sealed class Hello
    {
        private const int LongestText = 1 << 20;
        private const int LongestTold = 80;
        private readonly string protocol;
        private readonly SortedList<int, JsonObject> offers;

        private Hello(string protocol, SortedList<int, JsonObject> offers)
        {
            this.protocol = protocol;
            this.offers = offers;
        }

        /// <summary>Read a hello. Throws FormatException for a text that is none.</summary>
        internal static Hello Read(string text)
        {
            if (text == null || text.Length > LongestText)
            {
                throw new FormatException("no text, or more than " + LongestText + " characters");
            }
            var found = JsonReader.Read(text) as JsonObject;
            var format = found?["wirelock_hello"] as JsonNumber;
            var versions = found?["versions"] as JsonObject;
            var protocol = found?["protocol"] as string;
            if (format == null || format.Text != "1" || versions == null || protocol == null)
            {
                throw new FormatException("the text is no hello");
            }
            var offers = new SortedList<int, JsonObject>(Comparer<int>.Create((left, right) => right.CompareTo(left)));
            foreach (string number in versions.Names)
            {
                var offer = versions[number] as JsonObject;
                var parts = offer?["parts"] as JsonObject;
                if (!IsNumber(number) || parts == null || !IsHex(offer["fingerprint"] as string, 16))
                {
                    throw new FormatException("a version of the hello is none");
                }
                foreach (string path in parts.Names)
                {
                    if (!IsHex(parts[path] as string, 8))
                    {
                        throw new FormatException("a part of version " + number + " is none");
                    }
                }
                offers.Add(int.Parse(number), offer);
            }
            return new Hello(protocol, offers);
        }

        /// <summary>Find the highest version that both have alike.</summary>
        internal Negotiation Agree(string peer)
        {
            var disagreements = new List<Disagreement>();
            Hello theirs;
            try
            {
                theirs = Read(peer);
            }
            catch (FormatException problem)
            {
                return new Negotiation(null, disagreements, "this is no hello: " + problem.Message);
            }
            if (theirs.protocol != protocol)
            {
                return new Negotiation(null, disagreements, "the peer speaks another protocol");
            }
            foreach (KeyValuePair<int, JsonObject> ours in offers)
            {
                if (!theirs.offers.TryGetValue(ours.Key, out JsonObject other))
                {
                    continue;
                }
                if ((string)other["fingerprint"] == (string)ours.Value["fingerprint"])
                {
                    return new Negotiation(ours.Key, disagreements, "");
                }
                var parts = (JsonObject)ours.Value["parts"];
                disagreements.Add(new Disagreement(ours.Key, FirstDifference(parts, (JsonObject)other["parts"])));
            }
            string told = disagreements.Count == 0 ? "no version is spoken by both" : string.Join("; ", disagreements);
            return new Negotiation(null, disagreements, told);
        }

        private static string FirstDifference(JsonObject ours, JsonObject theirs)
        {
            foreach (string path in ours.Names)
            {
                if (theirs[path] as string != (string)ours[path])
                {
                    return path;
                }
            }
            foreach (string path in theirs.Names)
            {
                if (!ours.Has(path))
                {
                    return Printable(path.Length > LongestTold ? path.Substring(0, LongestTold) : path);
                }
            }
            return "";
        }

        /// <summary>What a peer sent may be anything: only ASCII of it is told as it is.</summary>
        private static string Printable(string text)
        {
            var letters = text.ToCharArray();
            for (int at = 0; at < letters.Length; at++)
            {
                letters[at] = letters[at] < ' ' || letters[at] > '~' ? '?' : letters[at];
            }
            return new string(letters);
        }

        private static bool IsNumber(string text)
        {
            foreach (char letter in text)
            {
                if (letter < '0' || letter > '9')
                {
                    return false;
                }
            }
            return text.Length == 1 || (text.Length > 1 && text.Length < 10 && text[0] != '0');
        }

        private static bool IsHex(string text, int length)
        {
            if (text == null || text.Length != length)
            {
                return false;
            }
            foreach (char letter in text)
            {
                if ("0123456789abcdef".IndexOf(letter) < 0)
                {
                    return false;
                }
            }
            return true;
        }
    }
}
