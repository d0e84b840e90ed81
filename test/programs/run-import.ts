/**
 * The import of the service as a process of its own, to be measured or killed. Run as `node run-import.js import PATH
 * DIRECTORY [TIME]`. Linux only. Prints `began`, each `phase`, and at the end its rows, seconds, CPU seconds and peak
 * memory.
 */
import { readFileSync } from 'node:fs'
import { Catalog } from '../../store/dataset/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { residentMemory } from '../bench/load/server-process.ts'
import { readArguments } from '../support/arguments.ts'

const TICKS_PER_SECOND = 100

const print = (line: string) => void process.stdout.write(`${line}\n`)

const [, path = '', dataDirectory = '', time] = readArguments('import PATH DIRECTORY [TIME]')
print('began')
const began = performance.now()
const catalog = new Catalog(dataDirectory)
let phase = ''
const { info, historyFailure } = await importDataset({
  dataDirectory,
  catalog,
  path,
  publication: SYNTHETIC,
  now: () => (time === undefined ? new Date() : new Date(time)),
  onProgress(progress) {
    if (progress.phase !== phase) print(`phase ${progress.phase}`)
    phase = progress.phase
  },
})
await catalog.close()
if (historyFailure !== undefined) throw historyFailure
const seconds = (performance.now() - began) / 1000
// `maxRSS` would include the memory that the parent process had when it started this one.
const memory = residentMemory(process.pid, 'VmHWM')
print(`rows ${info.row_count}\nseconds ${seconds}\ncpu ${cpuSeconds()}\nmemory ${memory}`)

/** Of this process and the child processes that have ended. */
function cpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  // utime, stime, cutime and cstime of proc(5), which begin with the fourteenth field. The first two are cut off.
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) / TICKS_PER_SECOND
}
