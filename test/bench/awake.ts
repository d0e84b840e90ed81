/**
 * Keeps a client from sleeping between two answers. To wake a process on another core takes a virtual machine as long as
 * a whole request does, and it is the server, in its write, that does the waking: the slower it is, the more often its
 * client sleeps, and the more it would be charged for that.
 */
export function stayAwake(): void {
  setImmediate(stayAwake)
}
