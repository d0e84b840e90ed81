/** Records which files and directories a program syncs to disk. Linux only. */
import { readlinkSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

/** Runs `work` and returns the paths of its syncs, in order. */
export async function syncedPaths(work: () => Promise<unknown>): Promise<string[]> {
  await using handle = await open('/')
  const prototype = Object.getPrototypeOf(handle) as { sync: (this: FileHandle) => Promise<void> }
  const { sync } = prototype
  const paths: string[] = []
  prototype.sync = function () {
    paths.push(readlinkSync(`/proc/self/fd/${this.fd}`))
    return sync.call(this)
  }
  try {
    await work()
  } finally {
    prototype.sync = sync
  }
  return paths
}
