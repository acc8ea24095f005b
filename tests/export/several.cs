// Reads datagrams of pings, each in hexadecimal: how many records are in one, or the fault.
using System;
using System.Collections.Generic;

namespace Game
{
    internal static class Several
    {
        private static void Main(string[] words)
        {
            foreach (string word in words)
            {
                var data = new byte[word.Length / 2];
                for (int at = 0; at < data.Length; at++)
                {
                    data[at] = Convert.ToByte(word.Substring(2 * at, 2), 16);
                }
                var found = new List<PingMessage>();
                bool read = PingProtocol.TryParseAll(data, found, out Fault fault);
                Console.WriteLine(read ? found.Count.ToString() : fault.Code + " " + fault.Byte + " " + fault.Path);
            }
        }
    }
}
