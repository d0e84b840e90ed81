/** Small disks in memory. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Mounts a disk in a folder. Undefined without the right to do so. */
export async function mountDisk(folder: string, options: string) {
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).then(
    () => true,
    () => false,
  )
  return isMounted ? { unmount: () => run('umount', ['--lazy', folder]) } : undefined
}
