// A small reader of JSON, for hellos and golden files: netstandard2.1 has none.
using System;
using System.Collections.Generic;
using System.Text;

namespace NAMESPACE
{
    /// <summary>A number of a JSON text, as it is written there.</summary>
    internal sealed class JsonNumber
    {
        internal JsonNumber(string text)
        {
            Text = text;
        }

        internal string Text { get; }
    }

    /// <summary>The members of a JSON object in their order; of a name that occurs twice the last value.</summary>
    internal sealed class JsonObject
    {
        private readonly Dictionary<string, object> values = new Dictionary<string, object>(StringComparer.Ordinal);

        internal List<string> Names { get; } = new List<string>();

        internal object this[string name] => values.TryGetValue(name, out object value) ? value : null;

        internal bool Has(string name) => values.ContainsKey(name);

        internal void Set(string name, object value)
        {
            if (!values.ContainsKey(name))
            {
                Names.Add(name);
            }
            values[name] = value;
        }
    }

    /// <summary>
    /// Reads a JSON text into null, bool, string, <see cref="JsonNumber"/>, <c>List&lt;object&gt;</c> and
    /// <see cref="JsonObject"/>.
    /// </summary>
    internal sealed class JsonReader
    {
        private const int DeepestNesting = 64;
        private readonly string text;
        private int at;
        private int depth;

        private JsonReader(string text)
        {
            this.text = text;
        }

        /// <summary>Read a text that is one JSON value. Throws FormatException for any other.</summary>
        internal static object Read(string text)
        {
            var reader = new JsonReader(text);
            object value = reader.Value();
            reader.Space();
            return reader.at == text.Length ? value : throw reader.Unexpected();
        }

        private object Value()
        {
            Space();
            switch (at < text.Length ? text[at] : '\0')
            {
                case '{':
                    return Object();
                case '[':
                    return List();
                case '"':
                    return String();
                case 't':
                    return Word("true", true);
                case 'f':
                    return Word("false", false);
                case 'n':
                    return Word("null", null);
                default:
                    return Number();
            }
        }

        private JsonObject Object()
        {
            var found = new JsonObject();
            if (Open('}'))
            {
                return found;
            }
            do
            {
                Space();
                string name = String();
                Expect(':');
                found.Set(name, Value());
            }
            while (More('}'));
            return found;
        }

        private List<object> List()
        {
            var found = new List<object>();
            if (Open(']'))
            {
                return found;
            }
            do
            {
                found.Add(Value());
            }
            while (More(']'));
            return found;
        }

        private bool Open(char close)
        {
            at++;
            Space();
            if (at < text.Length && text[at] == close)
            {
                at++;
                return true;
            }
            if (++depth > DeepestNesting)
            {
                throw Unexpected();
            }
            return false;
        }

        private bool More(char close)
        {
            Space();
            if (at < text.Length && text[at] == ',')
            {
                at++;
                return true;
            }
            Expect(close);
            depth--;
            return false;
        }

        private string String()
        {
            if (at >= text.Length || text[at] != '"')
            {
                throw Unexpected();
            }
            var found = new StringBuilder();
            for (at++; at < text.Length && text[at] >= ' '; at++)
            {
                char letter = text[at];
                if (letter == '"')
                {
                    at++;
                    return found.ToString();
                }
                found.Append(letter == '\\' ? Escaped() : letter);
            }
            throw Unexpected();
        }

        private char Escaped()
        {
            at++;
            char letter = at < text.Length ? text[at] : '\0';
            switch (letter)
            {
                case '"':
                case '\\':
                case '/':
                    return letter;
                case 'b':
                    return '\b';
                case 'f':
                    return '\f';
                case 'n':
                    return '\n';
                case 'r':
                    return '\r';
                case 't':
                    return '\t';
                case 'u':
                    return Unicode();
                default:
                    throw Unexpected();
            }
        }

        private char Unicode()
        {
            int code = 0;
            for (int digit = 0; digit < 4; digit++)
            {
                at++;
                int value = at < text.Length ? "0123456789abcdef".IndexOf(char.ToLowerInvariant(text[at])) : -1;
                if (value < 0)
                {
                    throw Unexpected();
                }
                code = (code << 4) | value;
            }
            return (char)code;
        }

        private JsonNumber Number()
        {
            int start = at;
            Skip('-');
            if (!Skip('0'))
            {
                Digits();
            }
            if (Skip('.'))
            {
                Digits();
            }
            if (Skip('e') || Skip('E'))
            {
                if (!Skip('+'))
                {
                    Skip('-');
                }
                Digits();
            }
            return new JsonNumber(text.Substring(start, at - start));
        }

        private void Digits()
        {
            int start = at;
            while (at < text.Length && text[at] >= '0' && text[at] <= '9')
            {
                at++;
            }
            if (at == start)
            {
                throw Unexpected();
            }
        }

        private object Word(string word, object value)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0)
            {
                throw Unexpected();
            }
            at += word.Length;
            return value;
        }

        private bool Skip(char letter)
        {
            if (at >= text.Length || text[at] != letter)
            {
                return false;
            }
            at++;
            return true;
        }

        private void Expect(char letter)
        {
            Space();
            if (!Skip(letter))
            {
                throw Unexpected();
            }
        }

        private void Space()
        {
            while (at < text.Length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
            {
                at++;
            }
        }

        private FormatException Unexpected() => new FormatException("character " + at + " is no JSON");
    }
}
