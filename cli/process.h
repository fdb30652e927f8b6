/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AESOP_CLI_PROCESS_H
#define AESOP_CLI_PROCESS_H

#include "cli/config.h"

/*
 * Whether a running program has aesop loaded, as far as /proc tells: what a file promises says nothing about programs
 * that ignore it. Returns a cli_status, CLI_OK also with faults found.
 */
int cli_process_check(struct cli_findings *f, const char *pid);

#endif
