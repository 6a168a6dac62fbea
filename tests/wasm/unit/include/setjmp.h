/* cmocka wants it to be included; nothing here jumps. */
