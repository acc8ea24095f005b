// A client as a game would have one: it uses the public face of the export alone, and prints what it finds.
using System;
using System.Collections.Generic;
using Game;

internal static class Client
{
    private static int Main()
    {
        Records();
        Faults();
        Messages();
        Repeating();
        Allocations();
        return 0;
    }

    private static void Records()
    {
        RotationV2 pose = RotationV2.FromQuaternion(0.35f, -0.2f, 0.1f, -0.9f);
        pose.Flags = PoseFlags.Aiming | PoseFlags.Grounded;
        byte[] bytes = pose.Build();
        Tell("built", BitConverter.ToString(bytes));
        RotationV2 again = RotationV2.Parse(bytes);
        Tell("equal", again == pose, again.Equals((object)pose), again.GetHashCode() == pose.GetHashCode());
        again.A++;
        Tell("different", again != pose, again.Equals(null));
        var (x, y, z, w) = pose.ToQuaternion();
        Tell("unit", Math.Abs((x * x) + (y * y) + (z * z) + (w * w) - 1) < 1e-6, z > 0);
        Tell("size", RotationV2.EncodedSize, SnapshotV2.Version, SnapshotV2.Magic.Length, SnapshotV2.Magic[1]);
        Tell("no rotation", RotationV1.TryFromQuaternion(0, float.NaN, 0, 0, out RotationV1 _));
    }

    private static void Faults()
    {
        var none = default(Fault);
        Tell("none", none.IsNone, none.Code.Length, none.Path.Length, none.Byte == null, none);
        var pose = new RotationV1 { LargestIndex = 4 };
        Tell("index", Built(pose));
        pose = new RotationV1 { A = 32767, B = 32767, C = 32767 };
        Tell("rule", Built(pose), Built(new RotationV1 { B = -32768 }));
        var snapshot = new SnapshotV1 { Entities = new EntityV1[2] };
        snapshot.Entities[1].Position.Y = float.NaN;
        snapshot.Entities[1].Rotation.LargestIndex = 9;
        Tell("inside", Built(snapshot));
        snapshot.Entities[1].Flags = (PoseFlags)0x80;
        Tell("flags", Built(snapshot));
        Tell("too small", new SnapshotV1().TryBuild(new byte[8], out int written, out Fault fault), written, fault);
        Tell("just right", new SnapshotV1().TryBuild(new byte[9], out written, out fault), written, fault);
        Tell("cut", SnapshotV1.TryParse(new byte[] { 0x57 }, out snapshot, out fault), fault, snapshot.Entities == null);
        Tell("bit", RotationV3.TryParse(new byte[] { 0, 0 }, out RotationV3 _, out fault), fault);
        try
        {
            RotationV1.Parse(new byte[8]);
        }
        catch (WireException problem)
        {
            Tell("thrown", problem.Message, problem.Fault.Equals(new Fault()));
        }
    }

    private static void Messages()
    {
        byte[] bytes = new SnapshotV3 { Tick = 7 }.Build();
        SnapshotMessage message = SnapshotProtocol.Parse(bytes);
        Tell("message", message.Version, message.V3.Tick, message.V3.Entities.Length);
        bytes[2] = 4;
        Tell("version", SnapshotProtocol.TryReadVersion(bytes, out int version, out Fault fault), version, fault);
        bytes[0] = 0;
        Tell("foreign", SnapshotProtocol.TryParse(bytes, out message, out fault), message.Version, fault);
        Negotiation found = SnapshotProtocol.Negotiate(SnapshotProtocol.HelloText);
        Tell("negotiated", found.Version, found.Disagreements.Count, found.Problem.Length);
        found = RotationProtocol.Negotiate(SnapshotProtocol.HelloText);
        Tell("no peer", found.Version == null, found.Problem);
    }

    private static void Repeating()
    {
        var found = new List<BlockMessage>();
        Tell("all", BlockProtocol.TryParseAll(new byte[] { 1, 5, 2, 1, 2, 1, 7 }, found, out Fault fault), found.Count);
        Tell("last", found[1].Version, found[1].V2.Value);
        found.Clear();
        Tell("second cut", BlockProtocol.TryParseAll(new byte[] { 1, 5, 2, 1 }, found, out fault), found.Count, fault);
        Tell("second unknown", BlockProtocol.TryParseAll(new byte[] { 1, 5, 9 }, found, out fault), fault);
        Tell("nothing", BlockProtocol.TryParseAll(new byte[0], found, out fault), fault);
    }

    private static void Allocations()
    {
        byte[] bytes = RotationV1.FromQuaternion(0.5f, 0.5f, 0.5f, 0.5f).Build();
        byte[] spoiled = { 9, 0, 0, 0, 0, 0, 0 };
        var destination = new byte[RotationV1.EncodedSize];
        long before = 0;
        for (int round = 0; round < 2000; round++)
        {
            if (round == 1000)
            {
                before = GC.GetAllocatedBytesForCurrentThread();
            }
            RotationV1.TryParse(bytes, out RotationV1 pose, out _);
            pose.TryBuild(destination, out _, out _);
            RotationV1.TryParse(spoiled, out pose, out _);
        }
        Tell("allocated a round", (GC.GetAllocatedBytesForCurrentThread() - before) / 1000);
    }

    private static string Built(RotationV1 record)
    {
        return record.TryBuild(new byte[64], out int _, out Fault fault) ? "built" : fault.ToString();
    }

    private static string Built(SnapshotV1 record)
    {
        return record.TryBuild(new byte[64], out int _, out Fault fault) ? "built" : fault.ToString();
    }

    private static void Tell(string what, params object[] values)
    {
        Console.WriteLine(what + ": " + string.Join(", ", values));
    }
}
