"""The author's construct -> Layout: what a record is on the wire, in bits."""
