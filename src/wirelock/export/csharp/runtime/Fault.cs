// Why bytes are refused or a record cannot be sent: the same words, places and precedence as the server's.
using System;
using System.Runtime.CompilerServices;

namespace NAMESPACE
{
    /// <summary>The words that <see cref="Fault.Code"/> can be, besides <c>rule:</c> and a rule's name.</summary>
    public static class FaultCode
    {
CODES
    }

    /// <summary>What is wrong with a datagram or a record, and where. <c>default</c> is no fault.</summary>
    public readonly struct Fault : IEquatable<Fault>
    {
        private readonly string code;
        private readonly string path;
        private readonly int place;
        private readonly int bit;

        internal Fault(string code, string path, int place = -1, int bit = -1)
        {
            this.code = code;
            this.path = path;
            this.place = place;
            this.bit = bit;
        }

        /// <summary>Whether there is no fault.</summary>
        public bool IsNone => code == null;

        /// <summary>A word of <see cref="FaultCode"/>, or <c>rule:</c> and a rule's name; empty for no fault.</summary>
        public string Code => code ?? "";

        /// <summary>The field, such as <c>entities[3].rotation.a</c>; empty for the record as a whole.</summary>
        public string Path => path ?? "";

        /// <summary>Where the field begins, in bytes from the start of the data; null when a record is built.</summary>
        public int? Byte => code == null || place < 0 ? (int?)null : place;

        /// <summary>The highest bit of the field in that byte, 7 to 0; null for a field of whole bytes.</summary>
        public int? Bit => code == null || bit < 0 ? (int?)null : bit;

        /// <summary>The fault as seen from a record that holds this one at a path, so many bytes further on.</summary>
        internal Fault Within(string outer, int bytes, string otherCode = null)
        {
            return new Fault(otherCode ?? code, FaultSlot.Join(outer, Path), place < 0 ? place : place + bytes, bit);
        }

        /// <inheritdoc/>
        public bool Equals(Fault other)
        {
            return Code == other.Code && Path == other.Path && Byte == other.Byte && Bit == other.Bit;
        }

        /// <inheritdoc/>
        public override bool Equals(object other) => other is Fault fault && Equals(fault);

        /// <inheritdoc/>
        public override int GetHashCode() => Code.GetHashCode() ^ (Path.GetHashCode() * 397) ^ place;

        /// <summary>Such as <c>out-of-range at largest_index (byte 0, bit 1)</c>.</summary>
        public override string ToString()
        {
            if (IsNone)
            {
                return "no fault";
            }
            string where = Path.Length == 0 ? "" : " at " + Path;
            string offset = Byte == null ? "" : " (byte " + Byte + (Bit == null ? ")" : ", bit " + Bit + ")");
            return Code + where + offset;
        }
    }

    /// <summary>Thrown by the methods whose names do not begin with Try.</summary>
    public sealed class WireException : Exception
    {
        /// <summary>Make the exception of a fault.</summary>
        public WireException(string record, Fault fault)
            : base(record + ": " + fault)
        {
            Fault = fault;
        }

        internal WireException(string record, Fault fault, string told)
            : base(record + ": " + fault + ": " + told)
        {
            Fault = fault;
        }

        /// <summary>What is wrong.</summary>
        public Fault Fault { get; }
    }

    /// <summary>
    /// Keeps the one fault of a call: one of the structure before one of a value, and that before one of a rule.
    /// Nothing is allocated until there is one.
    /// </summary>
    internal struct FaultSlot
    {
        private const int OfRule = 1;
        private const int OfValue = 2;
        private const int OfStructure = 3;
        private string code;
        private string path;
        private int place;
        private int bit;
        private int rank;

        /// <summary>How many faults were ever put here.</summary>
        internal int Count { get; private set; }

        /// <summary>Put a fault of the structure here, which ends the call. Returns false.</summary>
        internal bool Fail(string code, string path, int place = -1, int bit = -1)
        {
            Put(OfStructure, code, path, place, bit);
            return false;
        }

        /// <summary>Whether a value's fault is taken; one put here after <paramref name="since"/> gives way.</summary>
        internal bool TakesValue(int since = int.MaxValue)
        {
            return rank < OfValue || (rank == OfValue && Count > since);
        }

        /// <summary>Whether a rule's fault is taken.</summary>
        internal bool TakesRule() => rank < OfRule;

        /// <summary>Put the fault of a value here if it is taken; the call goes on.</summary>
        internal void NoteValue(string code, string path, int place = -1, int bit = -1, int since = int.MaxValue)
        {
            if (TakesValue(since))
            {
                Put(OfValue, code, path, place, bit);
            }
        }

        /// <summary>Put the fault of a rule here if it is taken; the call goes on.</summary>
        internal void NoteRule(string code, string path, int place = -1, int bit = -1)
        {
            if (TakesRule())
            {
                Put(OfRule, code, path, place, bit);
            }
        }

        /// <summary>
        /// Put <paramref name="outer"/> before the path of what a nested record has put here since there were
        /// <paramref name="before"/> faults. Returns <paramref name="done"/>, which says whether to go on.
        /// </summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal bool Inside(string outer, int before, bool done)
        {
            if (Count != before)
            {
                Prepend(outer);
            }
            return done;
        }

        /// <summary>The same for an element of a list.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal bool Inside(string list, int index, int before, bool done)
        {
            if (Count != before)
            {
                Prepend(list, index);
            }
            return done;
        }

        /// <summary>Hand out the fault. Returns whether there is none.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal bool Finish(out Fault fault)
        {
            fault = Count == 0 ? default(Fault) : new Fault(code, path, place, bit);
            return Count == 0;
        }

        internal static string Join(string outer, string inner)
        {
            if (inner.Length == 0)
            {
                return outer;
            }
            return inner[0] == '[' || inner[0] == '#' || outer.Length == 0 ? outer + inner : outer + "." + inner;
        }

        private void Prepend(string outer) => path = Join(outer, path);

        private void Prepend(string list, int index) => path = Join(list + "[" + index + "]", path);

        private void Put(int newRank, string newCode, string newPath, int newPlace, int newBit)
        {
            rank = newRank;
            code = newCode;
            path = newPath;
            place = newPlace;
            bit = newBit;
            Count++;
        }
    }
}
