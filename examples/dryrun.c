/* Runs a program on a simulated GPU and prints what a dry run finds out, as JSON.
 *
 *   dryrun GPU PROGRAM [ARGUMENT...]     dryrun 24GiB python3 train.py
 *
 * The exit code is the program's. With one argument alone (a file, say) it runs `true`, which uses no GPU. */
#include <stdio.h>
#include <vramscope/vramscope.h>

static vs_status write_file(void *ctx, const void *data, size_t size) {
  return fwrite(data, 1, size, ctx) == size ? VS_OK : VS_IO;
}

static void show(void *ctx, const vs_dryrun_progress *progress) {
  (void)ctx;
  if (progress->stage == VS_DRYRUN_RUNNING)
    fprintf(stderr, "%s: %llu bytes at most\n", progress->name, (unsigned long long)progress->peak_bytes);
}

static void say(void *ctx, vs_str subject, const vs_error *error) {
  (void)ctx;
  fprintf(stderr, "%.*s: %s\n", (int)subject.size, subject.data, error->text);
}

int main(int argc, char **argv) {
  static char *nothing[] = {"true", NULL};
  vs_dryrun_plan plan = {.command = nothing, .streams = VS_DRYRUN_STREAMS_TO_STDERR};
  if (argc > 2) {
    plan.gpu = argv[1];
    plan.command = argv + 2;
  }
  const vs_dryrun_watch watch = {.progress = show, .say = say};
  const vs_writer reply = {.ctx = stdout, .write = write_file};
  vs_dryrun_end end;
  vs_error error;
  const vs_status status = vs_dryrun_run(NULL, &plan, &watch, reply, &end, &error);
  if (status == VS_OK) return putchar('\n') == EOF ? 1 : end.exit_code;
  fprintf(stderr, "%s: %s\n", vs_status_name(status), error.text);
  return end.exit_code != 0 ? end.exit_code : 2;
}
