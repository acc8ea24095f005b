"""Files that the tool writes for an author: a new project, and the draft of a new version."""
