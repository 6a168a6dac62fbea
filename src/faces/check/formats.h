/* The reply of a check (docs/formats/check.md) in the forms that services read. Each appends to a text, whose failures are kept in it.
 *
 * `folder`: that of the repository, with a slash at its end: files below it are named without it. */
#ifndef VS_FACES_CHECK_FORMATS_H
#define VS_FACES_CHECK_FORMATS_H

#include "base/human.h"
#include "codec/json_reply.h"

/* JUnit's XML, one test case for each check: a failure where it is broken, an error where it cannot be judged. The elements are those
 * that Jenkins, GitLab and GitHub's test reporters read: https://github.com/testmoapp/junitxml */
void vs_check_put_junit(vs_text *text, vs_json reply);

/* GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format */
void vs_check_put_code_quality(vs_text *text, vs_json reply, vs_str folder);

/* GitHub's workflow commands, one line for each owner of a broken check:
 * https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions */
void vs_check_put_annotations(vs_text *text, vs_json reply, vs_str folder);

/* Whether the owners of two checks are the same, so that a face need not repeat them. */
bool vs_check_are_same_places(vs_json check, vs_json other);

#endif
