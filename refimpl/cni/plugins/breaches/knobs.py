"""The breaches that a plugin can be told to commit: one small one each, by name.

They are given as `{"verb": "ADD" or "*", "do": KNOB, ...}` with optional `nth` (only the n-th call
that fits), `times` (at most so many), `match` ({variable: value} of the environment) and the
arguments named here in brackets.
"""

from __future__ import annotations

__all__ = ["KNOBS", "PROCESS"]

PROCESS = {
    "hang": "answers only after [seconds], without it never; stdin is not read",
    "slow-stdin": "takes stdin in pieces of [bytes] with [seconds] between them",
    "close-stdin": "closes stdin unread",
    "hold-stdout": "leaves a child that keeps both streams open for [seconds]; [detach]: in a "
    "session of its own",
    "signal": "ends by signal [number], 11 without it",
    "crash-after": "ends by SIGKILL at [point]: start, ipam, link, reserve, result",
    "flood": "writes [bytes] (1 GiB) to [stream] (stdout) before it answers",
    "lock-file": "keeps the store's lock as a file that a killed process leaves behind",
}
"""What needs a process; the first four cannot be asked of a plugin that runs as a function."""

OUTPUT = {
    "noise-before": "[text] in front of the answer on stdout",
    "noise-after": "[text] behind the answer on stdout",
    "result-then-error": "an ADD that fails prints a result in front of the error",
    "error-on-stderr": "prints the error object on stderr only",
    "success-with-error": "exits 0 with the error object",
    "failure-with-result": "exits 1 with the result",
    "output-without-need": "prints an object where a success has nothing to say",
    "traceback": "breaks off with a traceback on stderr, exit 1, nothing on stdout",
    "stdout": "prints [text] as it is; [status] goes with it",
    "exit": "exits with [status] and prints nothing",
    "error": "refuses with [code], [msg], [details] and does nothing",
    "foreign-members": "the result carries members of other versions",
    "null-arrays": "empty or absent lists of a result are null",
    "float-numbers": "integers of the result are printed as 1.0",
    "index-out-of-range": "ips[].interface is [value], the length of the list without it",
    "no-sandbox": "container-side interfaces have no sandbox",
    "code": "errors carry [code]",
    "no-msg": "errors have an empty message",
    "edit": "the member at [pointer] of the answer becomes [value], or goes without one",
}

REQUEST = {
    "one-missing-variable": "names only the first of several missing variables",
    "no-variable-check": "does not ask for the variables of the verb",
    "needs-cni-path": "demands CNI_PATH where it is optional",
    "no-id-check": "takes any CNI_CONTAINERID",
    "no-ifname-check": "takes any CNI_IFNAME",
    "no-name-check": "takes any network name",
    "any-version": "takes any cniVersion and answers in its newest",
    "verb-in-any-version": "does CHECK, GC and STATUS for older configurations too",
    "any-case-verb": "takes verbs in lower case and with spaces",
    "silent-without-command": "exits 0 with words on stderr when CNI_COMMAND is missing",
    "id-before-verb": "complains about the container id where the verb is wrong",
    "unknown-verb": "says that it does not know the verb [unknown]",
    "strict-unknown": "refuses unknown top-level keys with code 999",
    "strict-args": "refuses what it does not know below `args`",
    "strict-cni-args": "refuses unknown keys of CNI_ARGS even with IgnoreUnknown",
    "version-own": "VERSION answers with its own newest version",
    "version-strict": "VERSION refuses a stdin that is no JSON",
    "version-lies": "VERSION lists [versions] beyond what it does",
    "version-unsorted": "VERSION lists its versions newest first and one twice",
    "version-empty": "VERSION lists nothing",
}

INTERFACE = {
    "own-netns-accepted": "works in its own namespace",
    "own-netns-late": "refuses its own namespace only after the work, result printed",
    "ignores-override": "refuses its own namespace even with CNI_NETNS_OVERRIDE",
    "any-netns": "takes any path as a namespace on ADD",
    "overwrite-link": "replaces an interface that is there",
    "drop-link-on-failure": "an ADD that meets an interface of that name removes it",
    "rollback-frees-first": "a repeated ADD frees the address of the first",
    "leak": "an ADD that fails keeps the address (no DEL of the delegate)",
    "down-link": "leaves the interface down",
    "wrong-mac": "reports a MAC that the link does not have",
    "wrong-mtu": "reports an MTU that the link does not have",
    "no-interfaces": "the result names no interface",
    "missing-address": "does not put the addresses on the interface",
    "missing-route": "does not make the routes it reports",
    "stray-link": "leaves a host link that no result names",
    "host-sandbox": "host-side interfaces name the sandbox too",
    "no-address-accepted": "takes an IPAM result without an address",
    "accept-junk-ipam": "takes an unreadable IPAM result as an empty one",
    "path-reversed": "searches CNI_PATH from its end",
    "changed-stdin": "gives the delegate a rewritten stdin",
    "drop-args": "runs the delegate without CNI_ARGS",
    "swallow-stderr": "drops what the delegate writes to stderr",
    "swallow-code": "reports a failing delegate with code 999",
    "swallow-error": "takes a failing delegate as success",
    "forget-ipam": "DEL does not release the address",
    "forget-ipam-without-netns": "DEL does not release the address when the namespace is gone",
    "forget-link": "DEL leaves the interface",
    "del-once": "a DEL that finds nothing fails",
    "del-needs-netns": "DEL fails when the namespace is gone",
    "del-needs-file": "DEL fails when the namespace's path is no namespace",
    "del-makes-netns": "DEL writes a file at the namespace's path when it is missing",
    "del-needs-prev-result": "DEL fails without prevResult",
    "del-needs-bridge": "DEL fails when the bridge is gone",
    "del-stops-at-ipam": "a failing IPAM keeps DEL from removing the interface",
    "del-asks-ipam-once": "a DEL whose interface is gone does not ask IPAM again",
    "del-own-netns": "DEL works in its own namespace",
    "del-foreign-link": "DEL removes an interface that is not its own",
    "check-nothing": "CHECK always succeeds",
    "check-ignores-prev-result": "CHECK looks at the interface alone",
    "check-ignores-ipam": "CHECK does not ask IPAM",
    "check-needs-ipam": "CHECK without ipam in the configuration fails",
    "check-own-mac": "CHECK wants the MAC that ADD gave, whatever prevResult says",
    "skip": "does not look at [what] on CHECK: link, address, route, up, mac",
    "gc-nothing": "GC does nothing",
    "gc-not-forwarded": "GC does not run the delegate",
    "status-always": "STATUS always succeeds",
    "status-not-forwarded": "STATUS does not ask the delegate",
    "status-needs-ipam": "STATUS without ipam in the configuration fails",
    "key-by-pod": "the key of an attachment is K8S_POD_NAME",
}

IPAM = {
    "no-lock": "takes addresses without a lock and over one another",
    "dual-leak": "keeps the first family's address when the second is exhausted",
    "ipam-interfaces": "the IPAM result names interfaces",
    "ignore-request": "a requested address is replaced by another silently",
    "env-over-args": "CNI_ARGS IP wins over args.cni.ips",
    "any-range": "takes any subnet, gateway and range",
    "del-parses-ranges": "DEL fails when the ranges cannot be read",
    "del-by-id": "DEL and GC look at the container id alone",
    "del-by-case": "DEL ignores letter case of the id",
    "del-makes-store": "DEL makes the store's directory",
    "no-release": "DEL keeps the address reserved",
    "check-by-id": "CHECK wants some reservation of the id, not this address",
    "gc-everything": "GC frees what is valid too",
    "gc-by-prefix": "GC keeps what begins with a valid id",
    "gc-missing-frees": "GC without a list frees everything",
    "gc-any-type": "GC takes a malformed list as an empty one",
    "gc-stops": "GC stops at the first entry it cannot free",
    "gc-silent": "GC keeps quiet about entries it cannot free",
    "gc-internals": "GC removes the store's own files",
    "gc-other-networks": "GC frees in every network",
    "gc-makes-store": "GC makes the store's directory",
    "store-strict": "a foreign or empty file in the store breaks it",
}

CHAINED = {
    "prev-result-optional": "ADD without prevResult succeeds",
    "drop-prev-result": "the result has only what this plugin knows: no addresses",
    "change-prev-result": "the result's first address is another one",
    "drop-unknown": "unknown members of prevResult are dropped",
    "mixed-shape": "prevResult of another version is passed on with a new label",
    "touch-all": "every interface of the result is changed",
    "silent-change": "a changed MAC or MTU is not in the result",
    "needs-runtime-config": "fails when runtimeConfig is absent",
    "late-validation": "looks at runtimeConfig after the work",
    "check-misses-rules": "CHECK does not look at the rules",
}

KNOBS: dict[str, str] = PROCESS | OUTPUT | REQUEST | INTERFACE | IPAM | CHAINED
"""Every knob and what it breaks, one line each."""
