"""Which bytes of a method are alive when: instructions → timeline of buffers."""
