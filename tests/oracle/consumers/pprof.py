"""pprof's profile.proto, declared at run time from its published field numbers and read by Google's protobuf package."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto
INT64, UINT64, BOOL, STRING, MESSAGE = (
    Field.TYPE_INT64,
    Field.TYPE_UINT64,
    Field.TYPE_BOOL,
    Field.TYPE_STRING,
    Field.TYPE_MESSAGE,
)

# message -> (number, name, type or message, repeated)
MESSAGES = {
    "ValueType": [(1, "type", INT64, False), (2, "unit", INT64, False)],
    "Label": [(1, "key", INT64, False), (2, "str", INT64, False), (3, "num", INT64, False), (4, "num_unit", INT64, False)],
    "Sample": [(1, "location_id", UINT64, True), (2, "value", INT64, True), (3, "label", "Label", True)],
    "Line": [(1, "function_id", UINT64, False), (2, "line", INT64, False), (3, "column", INT64, False)],
    "Location": [
        (1, "id", UINT64, False),
        (2, "mapping_id", UINT64, False),
        (3, "address", UINT64, False),
        (4, "line", "Line", True),
        (5, "is_folded", BOOL, False),
    ],
    "Function": [
        (1, "id", UINT64, False),
        (2, "name", INT64, False),
        (3, "system_name", INT64, False),
        (4, "filename", INT64, False),
        (5, "start_line", INT64, False),
    ],
    "Profile": [
        (1, "sample_type", "ValueType", True),
        (2, "sample", "Sample", True),
        (4, "location", "Location", True),
        (5, "function", "Function", True),
        (6, "string_table", STRING, True),
        (7, "drop_frames", INT64, False),
        (8, "keep_frames", INT64, False),
        (9, "time_nanos", INT64, False),
        (10, "duration_nanos", INT64, False),
        (11, "period_type", "ValueType", False),
        (12, "period", INT64, False),
        (13, "comment", INT64, True),
        (14, "default_sample_type", INT64, False),
    ],
}
PACKAGE = "perftools.profiles"


def _profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package=PACKAGE, syntax="proto3")
    for message, fields in MESSAGES.items():
        declared = file.message_type.add(name=message)
        for number, name, kind, repeated in fields:
            field = declared.field.add(number=number, name=name)
            field.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
            field.type = MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                field.type_name = f".{PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Profile"))


Profile = _profile_class()


def read(raw):
    """The profile, after the rules that every profile has to keep."""
    profile = Profile.FromString(raw)
    before = profile.ByteSize()
    profile.DiscardUnknownFields()
    assert profile.ByteSize() == before, "fields nobody knows"
    strings = len(profile.string_table)
    assert strings and profile.string_table[0] == ""
    locations = {location.id: location for location in profile.location}
    functions = {function.id: function for function in profile.function}
    assert len(locations) == len(profile.location) and 0 not in locations
    assert len(functions) == len(profile.function) and 0 not in functions
    for function in profile.function:
        assert 0 <= function.name < strings and 0 <= function.filename < strings
    for location in profile.location:
        assert location.line and all(line.function_id in functions for line in location.line)
    for sample in profile.sample:
        assert len(sample.value) == len(profile.sample_type)
        assert sample.location_id and all(id in locations for id in sample.location_id)
    return profile


def stack(profile, sample):
    """Frames of a sample, innermost first: (function, file, line)."""
    locations = {location.id: location for location in profile.location}
    functions = {function.id: function for function in profile.function}
    frames = []
    for id in sample.location_id:
        line = locations[id].line[0]
        function = functions[line.function_id]
        frames.append((profile.string_table[function.name], profile.string_table[function.filename], line.line))
    return tuple(frames)
