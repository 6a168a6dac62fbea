/*
 * The one list of what replies are made of: each key of each reply, with its type. docs/formats/query.md says what they mean.
 *
 * JavaScript (viewer/) is checked against it as it stands. tools/reply_types.py reads it: for the types of the Python package
 * (query.pyi), and for a test that compares real replies with it, key by key. So it keeps to what that reads: interfaces,
 * `extends`, aliases, and types made of names, literals, unions, arrays, tuples, objects and Record.
 *
 * An interface NameReply is the reply of the method "name"; `export` has none. A member that is marked with ? is not in every
 * reply of its kind.
 */
declare namespace Replies {
  /** A whole number; a plain `number` may have a fraction. */
  type int = number;
  /** What JSON can say: what stands in the file as it was. */
  type Json = unknown;
  type DeviceNumber = int | "host";
  type Pool = [int, int];
  type ByName = "stack" | "line" | "innermost" | "stream" | "pool" | "size" | "category" | "metadata" | "annotation" | "lifetime";
  type ColourName = ByName | "allocation";
  type MeasureName = "live" | "grown" | "freed" | "allocated" | "average";
  type DrawnName = "allocations" | "segments";
  type AxisName = "event" | "time";
  type SegmentKind = "small" | "large" | "other";

  interface Frame {
    function: string;
    file: string;
    line: int | null;
    kind: "user" | "library" | "backward" | "native" | "noise";
    place: string;
    name: string;
  }

  interface Stacked {
    stack: Frame[] | null;
    stack_id: int | null;
    owner_frame: int | null;
  }

  interface Moment {
    event: int;
    time_us: int | null;
  }

  interface AnyReply {
    schema: int;
    method: string;
  }

  interface DeviceReply extends AnyReply {
    device: DeviceNumber | null;
  }

  /** What the members of a group have in common; which of these it is, `by` says. */
  type GroupKey = int | string | Frame | Pool | { from_bytes: int; to_bytes: int } | { from_us: int; below_us: int }
    | { from_events: int; below_events: int } | null;

  interface Group extends Stacked {
    label: string;
    long_label: string;
    bytes: int;
    count: int;
    share: number;
    key: GroupKey;
    filter: string | null;
  }

  interface OwnerPart extends Group {
    each_bytes: int | null;
  }

  interface Owner extends OwnerPart {
    parts: OwnerPart[];
    part_count: int;
  }

  interface LineRow {
    depth: int;
    bytes: int;
    share: number;
    size: string;
    percent: string;
    blocks: string | null;
    label: string;
    long_label: string;
    key: GroupKey;
    filter: string | null;
  }

  interface Line {
    about: string;
    label: string;
    depth: int;
    tone: "plain" | "good" | "warning" | "bad";
    detail: boolean;
    text: string;
    value: string | null;
    bytes: int | null;
    brief: string | null;
    event: int | null;
    rows: LineRow[];
  }

  interface Recording {
    pid: int | null;
    host: string | null;
    program: string | null;
    simulated: boolean;
    gpus: { device: int; name: string; total_bytes: int | null }[];
    frames: int;
    compacted_frames: int;
    unfinished_frames: int;
    lost_frames: int;
    lost_bytes: int;
    lost_events: int;
    lost_names: int;
    unrecorded_events: int;
    derived_events: int;
    stopped: string | null;
    gaps: { cause: "unrecorded" | "stopped" | "damaged"; events: int | null; from_us: int | null; to_us: int | null }[];
    unknown_records: int;
    earlier_frames: int;
    end_rebuilt: boolean;
    ended: boolean;
  }

  interface File {
    name: string;
    title: string;
    format: "pickle" | "json" | "vram" | "kineto" | "rmm" | "pprof" | "nsys";
    bytes: int | null;
    inflated_bytes: int;
    compressed: boolean;
    pickle_protocol: int | null;
    unknown_keys: { where: string; key: string; count: int }[];
    unknown_key_count: int;
    recording: Recording | null;
  }

  // ---- report, stats

  interface EndFigures {
    reserved_bytes: int | null;
    allocated_bytes: int;
    active_bytes: int;
    requested_bytes: int;
    pending_bytes: int;
    inactive_bytes: int | null;
    rounding_bytes: int | null;
    segments: int | null;
    blocks: int;
    allocated_blocks: int;
    pending_blocks: int;
    inactive_blocks: int | null;
  }

  interface End extends EndFigures {
    releasable_bytes: int | null;
    pinned_bytes: int | null;
    largest_hole_bytes: int | null;
  }

  interface Trace {
    events: int;
    allocs: int;
    frees: int;
    frees_completed: int;
    ooms: int;
    snapshots: int;
    segment_allocs: int;
    segment_frees: int;
    segment_maps: int;
    segment_unmaps: int;
    baseline_requested_bytes: int;
    baseline_held_bytes: int;
    baseline_reserved_bytes: int | null;
    first_time_us: int | null;
    last_time_us: int | null;
    frees_at_request: boolean;
  }

  interface Area {
    pool: Pool | null;
    stream: int;
    kind: SegmentKind;
    segments: int;
    reserved_bytes: int;
    free_bytes: int;
    pinned_bytes: int;
    releasable_bytes: int;
    largest_hole_bytes: int;
    holes: int;
  }

  interface EndFragmentation {
    free_bytes: int;
    pinned_bytes: int;
    releasable_bytes: int;
    largest_hole_bytes: int;
    holes: int;
    unusable_bytes: int | null;
    share: number | null;
    areas: Area[];
    pinned: {
      address: int; size_bytes: int; active_bytes: int; free_bytes: int; pinned_bytes: int;
      blocks: int;
      owner: { label: string; long_label: string; bytes: int; stack_id: int | null };
    }[];
    sentence: string;
  }

  interface Lifetimes {
    count: int;
    bytes: int;
    ended_count: int;
    ended_bytes: int;
    short_count: int;
    short_bytes: int;
    short_events: int;
    by_us: { from_us: int; below_us: int | null; count: int }[];
    by_events: { from_events: int; below_events: int | null; count: int }[];
  }

  interface Oom extends Stacked {
    event: int;
    time_us: int | null;
    stream: int | null;
    requested_bytes: int;
    device_free_bytes: int | null;
    live_requested_bytes: int;
    held_bytes: int;
    reserved_bytes: int | null;
    active_bytes: int | null;
    cached_bytes: int | null;
    cached_usable_bytes: int | null;
    short_bytes: int | null;
    largest_hole_bytes: int | null;
    largest_hole_of_kind_bytes: int | null;
    largest_hole_for_it_bytes: int | null;
    cause: "full" | "fragmented" | "elsewhere" | "limit" | "unknown" | null;
    sentence: string | null;
    advice: string | null;
    lines: Line[];
    owners: Owner[] | null;
    owner_count: int | null;
    owner: Group | null;
    label: string;
    long_label: string;
  }

  interface Growth extends Stacked {
    label: string;
    long_label: string;
    kind: "allocated" | "freed" | "pending";
    bytes: int;
    blocks: int;
    bytes_per_step: int;
    steps: int;
    rises: int;
    first_step: int;
    live_bytes: int;
    pending_bytes: int;
    end_bytes: int;
    sentence: string;
  }

  interface ReportDevice {
    device: int;
    lines: Line[];
    summary: string;
    next: { method: string; at: string | null; text: string };
    end: End;
    trace: Trace;
    peak: {
      allocated_bytes: int; allocated_is_exact: boolean; allocated_event: int;
      requested_bytes: int; event: int; time_us: int | null; count: int; pending_bytes: int;
      reserved_bytes: int | null;
      owners: Owner[]; owner_count: int; metadata: Group[]; metadata_count: int;
    };
    peak_held: { held_bytes: int; event: int; time_us: int | null };
    peak_reserved: { reserved_bytes: int; event: int; time_us: int | null } | null;
    fragmentation: EndFragmentation | null;
    rounding: { lost_bytes: int; share: number | null } | null;
    lifetimes: Lifetimes;
    steps: {
      source: "annotations" | "rounds" | "pattern"; count: int; first_event: int; last_event: int; period_us: int | null;
      anchor: string; anchor_bytes: int | null;
    } | null;
    growth: Growth[];
    growth_count: int;
    ooms: Oom[];
    trust: {
      complete: boolean;
      findings: {
        kind: string; severity: "contradiction" | "gap" | "note"; count: int; first_event: int | null; sentence: string;
      }[];
    };
  }

  interface ReportReply extends AnyReply {
    file: File;
    lines: Line[];
    busiest: int | null;
    devices: ReportDevice[];
    host: ReportDevice | null;
  }

  interface StatsReply extends DeviceReply {
    end: End;
    streams: StreamFigures[];
    pools: PoolFigures[];
    kinds: KindFigures[];
    sizes: { from_bytes: int; to_bytes: int; allocs: int; alloc_bytes: int; live_count: int; live_bytes: int }[];
    lifetimes: Lifetimes;
  }

  interface StreamFigures extends EndFigures {
    stream: int;
  }

  interface PoolFigures extends EndFigures {
    pool: Pool | null;
  }

  interface KindFigures extends EndFigures {
    kind: SegmentKind;
  }

  // ---- what was live

  interface InventoryStack {
    label: string;
    long_label: string;
    key: GroupKey;
    filter: string | null;
    operation: string;
    owner_frame: int | null;
    is_forward: boolean;
    frames: int[];
    bytes: int;
    count: int;
    sizes: [int, int][];
  }

  interface InventoryReply extends DeviceReply {
    file: File;
    peak_allocated_bytes: int;
    allocated_is_exact: boolean;
    peak_requested_bytes: int;
    peak_reserved_bytes: int | null;
    ooms: int;
    complete: boolean;
    requests_hash: string | null;
    at: Moment;
    since: Moment | null;
    within: {
      first_event: int;
      last_event: int;
      peak_allocated_bytes: int;
      peak_requested_bytes: int;
      peak_reserved_bytes: int | null;
    } | null;
    bytes: int;
    count: int;
    frames: Frame[];
    stacks: InventoryStack[];
  }

  interface StepsReply extends DeviceReply {
    source: string | null;
    allocated_is_exact: boolean;
    steps: {
      step: int;
      first_event: int;
      last_event: int;
      first_time_us: int | null;
      last_time_us: int | null;
      peak_allocated_bytes: int;
      peak_requested_bytes: int;
      peak_reserved_bytes: int | null;
    }[];
  }

  interface LiveReply extends DeviceReply {
    at: Moment;
    since: Moment | null;
    measure: MeasureName;
    by: ByName;
    bytes: int;
    count: int;
    groups: Group[];
    group_count: int;
    rest: { bytes: int; count: int; groups: int };
  }

  interface Node {
    parent: int | null;
    id: int;
    function: string | null;
    file: string | null;
    line: int | null;
    kind: "user" | "library" | "backward" | "native" | "noise" | "before" | "unrecorded" | "rest" | null;
    place: string | null;
    name: string | null;
    bytes: int;
    count: int;
    self_bytes: int;
    self_count: int;
  }

  interface TreeReply extends DeviceReply {
    at: Moment;
    since: Moment | null;
    measure: MeasureName;
    frames: "calls" | "python" | "all";
    inverted: boolean;
    bytes: int;
    count: int;
    nodes: Node[];
    node_count: int;
  }

  interface Block extends Stacked {
    address: int | null;
    requested_bytes: int;
    size_bytes: int | null;
    state: "active_allocated" | "active_pending_free";
    stream: int;
    pool: Pool | null;
    category: string | null;
    alloc_event: int | null;
    alloc_time_us: int | null;
    free_event: int | null;
    free_time_us: int | null;
    label: string;
    long_label: string;
  }

  interface BlocksReply extends DeviceReply {
    at: Moment;
    bytes: int;
    count: int;
    offset: int;
    blocks: Block[];
  }

  // ---- the trace

  interface TraceEvent extends Stacked {
    event: int;
    action: string;
    row: int | null;
    name: string | null;
    address: int | null;
    size_bytes: int;
    stream: int | null;
    pool: Pool | null;
    time_us: int | null;
    device_free_bytes: int | null;
    category: string | null;
    compile_context: string | null;
    user_metadata: string | null;
    requested_after_bytes: int;
    reserved_after_bytes: int | null;
    label: string;
    long_label: string;
    frees: string | null;
    /** With the parameter `folded`. */
    folded?: boolean;
  }

  interface EventsReply extends DeviceReply {
    from: Moment;
    to: Moment;
    offset: int;
    events: TraceEvent[];
    count: int;
    advice: string | null;
  }

  interface FindReply extends DeviceReply {
    event: int | null;
    ordinal: int | null;
    count: int;
  }

  interface TimelineReply extends DeviceReply {
    axis: AxisName;
    from: Moment;
    to: Moment;
    columns: {
      event: int[];
      time_us: (int | null)[];
      requested_bytes: (int | null)[];
      requested_high_bytes: (int | null)[];
      requested_low_bytes: (int | null)[];
      held_bytes: (int | null)[];
      held_high_bytes: (int | null)[];
      held_low_bytes: (int | null)[];
      reserved_bytes: (int | null)[];
      reserved_high_bytes: (int | null)[];
      reserved_low_bytes: (int | null)[];
    };
  }

  interface MarkedMoment {
    event: int;
    time_us: int | null;
    bytes: int;
  }

  interface Annotation {
    name: string;
    depth: int;
    begin_event: int | null;
    end_event: int | null;
    begin_us: int;
    end_us: int | null;
  }

  interface MarksReply extends DeviceReply {
    peak: MarkedMoment | null;
    peak_reserved: MarkedMoment | null;
    end: MarkedMoment | null;
    rise: { from_event: int; to_event: int; bytes: int } | null;
    ooms: { event: int; time_us: int | null; requested_bytes: int; reserved_bytes: int; capacity_bytes: int | null }[];
    oom_count: int;
    snapshots: { event: int; time_us: int | null }[];
    snapshot_count: int;
    annotations: Annotation[];
    annotation_count: int;
    first_us: int | null;
    last_us: int | null;
    event_count: int;
  }

  // ---- the end state, and the state of any moment

  interface Segment extends Stacked {
    address: int;
    reserved_bytes: int;
    allocated_bytes: int;
    active_bytes: int;
    requested_bytes: int;
    inactive_bytes: int;
    largest_hole_bytes: int;
    blocks: int;
    active_blocks: int;
    stream: int;
    pool: Pool | null;
    segment_type: SegmentKind;
    is_expandable: boolean | null;
  }

  interface SegmentsReply extends DeviceReply {
    reserved_bytes: int;
    count: int;
    offset: int;
    segments: Segment[];
  }

  interface StateBlock {
    address: int;
    size_bytes: int;
    requested_bytes: int;
    state: "active_allocated" | "active_pending_free";
    alloc_event: int | null;
    stack_id: int | null;
  }

  interface StateReply extends DeviceReply {
    at: Moment;
    is_exact: boolean;
    reserved_bytes: int;
    requested_bytes: int;
    segments: {
      address: int; size_bytes: int; stream: int; pool: Pool | null; kind: SegmentKind; is_expandable: boolean;
      blocks: StateBlock[];
    }[];
    outside: StateBlock[];
    stacks: Record<string, Frame[] | null>;
  }

  interface MapReply extends DeviceReply {
    replayed: { ran_out: RanOut | null; is_cut: boolean } | null;
    at: Moment;
    is_exact: boolean;
    reserved_bytes: int;
    requested_bytes: int;
    streams: int[];
    pools: Pool[];
    outside: { count: int; bytes: int };
    columns: {
      segment_address: BigUint64Array;
      segment_size: Float64Array;
      segment_stream: Uint32Array;
      segment_pool: Uint32Array;
      segment_kind: Uint8Array;
      segment_flags: Uint8Array;
      segment_row: Uint32Array;
      segment_block: Uint32Array;
      block_offset: Float64Array;
      block_size: Float64Array;
      block_requested: Float64Array;
      block_row: Uint32Array;
      block_group: Uint16Array;
      block_flags: Uint8Array;
    };
  }

  interface HolesReply extends DeviceReply {
    axis: AxisName;
    x0: number;
    x1: number;
    whole: { x0: number; x1: number };
    classes: { from_bytes: int; below_bytes: int | null }[];
    columns: {
      point_event: Int32Array;
      reserved: Float64Array;
      active: Float64Array;
      free: Float64Array;
      pinned: Float64Array;
      releasable: Float64Array;
      largest_hole: Float64Array;
      hole_count: Float64Array;
      class_bytes: Float64Array;
    };
  }

  interface PinnedSegment {
    row: int;
    address: int;
    size_bytes: int;
    active_bytes: int;
    free_bytes: int;
    pinned_bytes: int;
    pool: Pool | null;
    stream: int;
    block_count: int;
    blocks: {
      row: int | null; name: string | null; label: string; long_label: string; size_bytes: int; offset_bytes: int;
    }[];
  }

  interface FragmentationReply extends DeviceReply {
    at: Moment;
    is_exact: boolean;
    all: {
      reserved: int; active: int; free: int; pinned: int; releasable: int; largest_hole: int; unusable: int | null;
      hole_count: int;
    };
    areas: Area[];
    pinned: PinnedSegment[];
    sentence: string;
  }

  interface ReservedSums {
    reserved_bytes: int; requested_bytes: int; rounding_bytes: int; pending_bytes: int; fragmented_bytes: int; releasable_bytes: int;
  }

  interface ReservedPool extends ReservedSums {
    pool: Pool | null;
    is_private: boolean | null;
  }

  interface ReservedReply extends DeviceReply, ReservedSums {
    at: Moment;
    is_exact: boolean;
    card_name: string | null;
    card_bytes: int | null;
    card_free_bytes: int | null;
    libraries: { library: string; bytes: int }[] | null;
    outside_bytes: int;
    pools: ReservedPool[];
  }

  /** A row of the ledger, as in docs/formats/where.md. */
  interface LedgerRow {
    kind: string;
    name: string | null;
    device?: int;
    moment?: string | null;
    bytes: int | null;
    why: string | null;
    source: string | null;
    is_shown: boolean;
    rows: LedgerRow[];
  }

  interface LedgerReply extends DeviceReply {
    at: Moment;
    devices: LedgerRow[];
  }

  interface BandsReply extends DeviceReply {
    axis: AxisName;
    x0: number;
    x1: number;
    whole: { x0: number; x1: number };
    bands: { kind: string; name: string; source: string | null }[];
    unknown: { kind: string; name: string; why: string }[];
    columns: {
      point_event: Int32Array;
      known: Float64Array;
      bytes: Float64Array;
    };
  }

  interface LibrariesReply {
    schema: int;
    method: string;
    has_pytorch: boolean;
    devices: {
      device: int;
      has_pytorch: boolean;
      card_name: string | null;
      card_bytes: int | null;
      peak_bytes: int | null;
      peak_time_us: int | null;
      peak_after_us: int | null;
      end_bytes: int | null;
      libraries: { library: string; at_peak_bytes: int; peak_bytes: int; end_bytes: int }[] | null;
    }[];
  }

  // ---- pictures and what is in them

  interface PictureReply extends DeviceReply {
    what: DrawnName;
    axis: AxisName;
    x0: number;
    x1: number;
    y0: int;
    y1: int;
    whole: { x0: number; x1: number };
    columns_count: int;
    rows_count: int;
    highest: { bytes: int; event: int | null };
    count: int;
    marked: { count: int; bytes_at_highest: int } | null;
    columns: {
      sample_column: Uint32Array;
      sample_event: Int32Array;
      sample_bytes: Float64Array;
      sample_kept: Uint16Array;
      sample_run: Uint32Array;
      run_end: Uint16Array;
      run_row: Uint32Array;
      run_group: Uint16Array;
      run_flags: Uint8Array;
      requested_high: Float64Array;
      requested_low: Float64Array;
      held_high: Float64Array;
      held_low: Float64Array;
      reserved_high: Float64Array;
      reserved_low: Float64Array;
      segment_gets: Uint32Array;
      segment_gives: Uint32Array;
    };
  }

  interface LegendGroup {
    index: int;
    label: string;
    long_label: string;
    key: GroupKey;
    filter: string | null;
    bytes_at_peak: int;
    count: int;
    share_of_time: number;
  }

  interface GroupsReply extends DeviceReply {
    what: DrawnName;
    by: ColourName;
    groups: LegendGroup[];
    others: int | null;
    group_count: int;
    rest: { groups: int; bytes_at_peak: int; count: int; share_of_time: number | null };
  }

  interface Picked {
    row: int;
    name: string;
    size_bytes: int;
    label: string;
    long_label: string;
    start_event: int | null;
    start_us: int | null;
    end_event: int | null;
    end_us: int | null;
    offset_bytes: int;
  }

  interface PickReply extends DeviceReply {
    what: DrawnName;
    at: Moment;
    total_bytes: int;
    count: int;
    bytes: int;
    rows: Picked[];
  }

  interface AllocationReply extends DeviceReply, Stacked {
    what: DrawnName;
    row: int;
    name: string;
    address: int | null;
    size_bytes: int;
    rounded_bytes: int | null;
    start_event: int | null;
    start_us: int | null;
    free_requested_event: int | null;
    end_event: int | null;
    end_us: int | null;
    lifetime_us: int | null;
    lifetime_events: int | null;
    live_at_end: boolean;
    stream: int | null;
    pool: Pool | null;
    category: string | null;
    user_metadata: string | null;
    compile_context: string | null;
    offset_bytes: int | null;
    segment: { row: int; address: int; size_bytes: int; kind: SegmentKind; is_expandable: boolean } | null;
    label: string;
    long_label: string;
    free_stack: Frame[] | null;
    forward_stack: string[] | null;
  }

  interface Allocation extends Stacked {
    row: int;
    name: string;
    size_bytes: int;
    label: string;
    long_label: string;
    start_event: int | null;
    start_us: int | null;
    end_event: int | null;
    end_us: int | null;
  }

  interface AllocationsReply extends DeviceReply {
    what: DrawnName;
    at: Moment | null;
    count: int;
    bytes: int;
    offset: int;
    rows: Allocation[];
  }

  // ---- the file, the methods, the settings, the replay

  interface InfoDevice {
    device: int;
    events: int;
    segments: int;
    blocks: int;
    reserved_bytes: int;
    peak_reserved_bytes: int | null;
    ooms: int;
    first_time_us: int | null;
    last_time_us: int | null;
    annotations: { name: string; start_us: int; end_us: int | null; depth: int }[];
    annotation_count: int;
  }

  interface InfoReply extends AnyReply {
    file: File;
    default_device: DeviceNumber | null;
    devices: InfoDevice[];
    host: InfoDevice | null;
    settings: Record<string, Json> | null;
    frames: int;
    stacks: int;
    trailing_bytes: int;
  }

  interface MethodsReply extends AnyReply {
    version: string;
    methods: {
      name: string; reply: "json" | "columns" | "bytes"; streamed: boolean; needs_file: boolean; sentence: string;
      params: {
        name: string; type: string; default: int | string | boolean | null; sentence: string;
        choices: { name: string; sentence: string }[] | null;
      }[];
    }[];
    formats: { name: string; extension: string; opens_in: string; sentence: string }[];
  }

  interface Setting {
    key: string;
    value: string;
    default: string;
    differs: boolean;
    bounds: string;
    sentence: string;
  }

  interface SettingsReply extends AnyReply {
    text: string | null;
    rules: string;
    backend: "native" | "cudaMallocAsync";
    settings: Setting[];
    differing: int;
    warnings: string[];
  }

  interface SegmentEvent {
    action: string;
    address: int;
    size_bytes: int;
    stream: int | null;
    event: int | null;
  }

  interface RanOut {
    event: int | null;
    time_us: int | null;
    requested_bytes: int;
  }

  interface ReplayReply extends DeviceReply {
    events: int;
    reserved_peak_bytes: int;
    check: {
      settings: string; settings_known: boolean; segment_events: int; matched: int; extra: int; allocations: int;
      placed: int; first_misplaced_event: int | null; strays: int; is_cut: boolean;
      misses: {
        request_event: int | null; expected: SegmentEvent | null; got: SegmentEvent | null; reason: string;
      }[];
      miss_count: int;
      reasons: { reason: string; count: int; sentence: string }[];
    };
    run: {
      settings: string; card_bytes: int | null;
      ran_out: RanOut | null;
      avoided_ooms: int; is_cut: boolean; last_event: int | null; reserved_peak_bytes: int; allocated_peak_bytes: int;
      active_peak_bytes: int; requested_peak_bytes: int; segments_peak: int; retries: int; device_allocs: int;
      device_frees: int;
    };
  }

  interface WhatifCheckpoint {
    functions: { function: string; calls: int; recomputed: int; blocks: int; bytes: int; most_bytes: int }[];
    told_by: { lines: int; sizes: int; stacks: int; runs: int };
  }

  interface WhatifRun {
    asked: string | null;
    settings: string;
    card: string | null;
    total_bytes: int | null;
    capacity_bytes: int | null;
    passes: boolean;
    ran_out: RanOut | null;
    refused_ooms: int;
    avoided_ooms: int;
    is_cut: boolean;
    last_event: int | null;
    reserved_peak_bytes: int;
    allocated_peak_bytes: int;
    active_peak_bytes: int;
    segments_peak: int;
    retries: int;
    device_allocs: int;
    device_frees: int;
  }

  interface Check {
    settings: string;
    settings_known: boolean;
    is_equal: boolean;
    segment_events: int;
    matched: int;
    extra: int;
    allocations: int;
    placed: int;
  }

  interface WhatifReply extends DeviceReply {
    events: int;
    lines: Line[];
    check: Check;
    capacity_bytes: int | null;
    capacity_event: int | null;
    start_reserved_bytes: int;
    is_search: boolean;
    steps: { done: int; all: int } | null;
    edits: { allocations: int; bytes: int; older: int; checkpoint: WhatifCheckpoint | null } | null;
    recorded: WhatifRun;
    runs: WhatifRun[];
    ranking: int[];
    best: int | null;
    smallest: { settings: string; capacity_bytes: int | null; card_bytes: int | null; runs: int }[];
    bound: { lower_bytes: int; plan_bytes: int | null } | null;
  }

  interface CourseReply extends DeviceReply {
    axis: AxisName;
    x0: number;
    x1: number;
    whole: { x0: number; x1: number };
    columns_count: int;
    ran_out: RanOut | null;
    is_cut: boolean;
    last_event: int | null;
    reserved_peak_bytes: int;
    columns: { reserved_high: Float64Array; reserved_low: Float64Array };
  }

  interface RemedyPart {
    label: string;
    long_label: string;
    key: GroupKey;
    filter: string | null;
    blocks: int;
    rows: int[];
    bytes: int;
    of_blocks: int;
    of_bytes: int;
  }

  interface Remedy {
    kind: "settings" | "empty_cache" | "growth" | "owner" | "shrink" | "activations" | "limit" | "card";
    settings: string | null;
    capacity_bytes: int;
    owner: string | null;
    parts: RemedyPart[];
    is_any: boolean;
    percent: int | null;
    bytes: int | null;
    card: { key: string; name: string; total_bytes: int; room_bytes: int } | null;
    passes: boolean;
    reserved_peak_bytes: int;
    device_allocs: int;
    whatif: Record<string, Json> | null;
  }

  interface FailedRequest extends Stacked {
    device: DeviceNumber | null;
    event: int;
    time_us: int | null;
    stream: int | null;
    requested_bytes: int;
    short_bytes: int | null;
    cause: "unknown" | "full" | "elsewhere" | "fragmented" | "limit";
    sentence: string;
    capacity_bytes: int | null;
    reserved_bytes: int;
    allocated_bytes: int | null;
    cached_bytes: int | null;
    cached_usable_bytes: int | null;
    free_bytes: int | null;
    is_exact: boolean;
    owners: Owner[] | null;
    owner_count: int | null;
    label: string;
    long_label: string;
    replayed_as: "recorded" | "least" | null;
    replayed_bytes: int | null;
    replayed_allocs: int | null;
    settings_tried: int | null;
    settings_passing: int | null;
    is_cut: boolean;
    remedies: Remedy[] | null;
  }

  interface OomReply extends DeviceReply {
    events: int;
    first_time_us: int | null;
    lines: Line[];
    summary: string;
    check: Check | null;
    failures: int;
    ooms: FailedRequest[];
    others: { device: DeviceNumber | null; event: int; time_us: int | null; requested_bytes: int }[];
  }
}
