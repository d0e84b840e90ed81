/** Measures the rows of one file of `bench perf`, and sends them to the parent process. */
import { measureFile, PERF_SIZES } from '../bench/perf/files.ts'
import type { PerfSize } from '../bench/perf/perf-row.ts'
import { sharedRegisters } from '../bench/generated-register.ts'
import { makeTemporaryDirectory, removeTemporaryDirectories } from '../support/temporary-directory.ts'
import { readArguments } from '../support/arguments.ts'

const [file = '', size = '', registers = '', former] = readArguments('FILE SIZE REGISTERS [TREE]')
try {
  process.send?.(
    await measureFile(file, {
      size: PERF_SIZES[size] as PerfSize,
      directory: await makeTemporaryDirectory(),
      register: sharedRegisters(registers),
      former,
    }),
  )
} finally {
  await removeTemporaryDirectories()
  process.disconnect?.()
}
