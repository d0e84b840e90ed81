/** Writes a made-up register of any size to a file. */
import { writeFile } from 'node:fs/promises'
import { buildZip } from '../zip.ts'
import { sampleRegister, type SampleOptions } from './register.ts'

/** The same options give the same bytes. A name that ends in `.zip` gets an archive, any other name a CSV. */
export async function generateRegister({ out, ...options }: SampleOptions & { out: string }): Promise<void> {
  const content = Buffer.concat(Array.from(sampleRegister(options), (record) => Buffer.from(record)))
  await writeFile(out, out.endsWith('.zip') ? buildZip({ name: 'companies.csv', content }) : content)
}
