/** A signal to the program of the buyer while it waits for the service. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { startChild } from '../../support/child.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const commands = { lookup: ['lookup', '1'], reconcile: ['reconcile', 'LIST', '--column', 'name', '--yes'] }

describe('a signal while the service hangs', () => {
  for (const [name, args] of Object.entries(commands))
    it(`[14.18] ends ${name}, which does not wait for the answer`, async () => {
      const directory = await makeTemporaryDirectory()
      const [key, list] = [join(directory, 'buyer.key'), join(directory, 'list.csv')]
      await writeFile(key, generatePrivateKey(), { mode: 0o600 })
      await writeFile(list, 'name\nAlpha\n')
      const service = createServer().listen(0, '127.0.0.1')
      await once(service, 'listening')
      const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
      const target = ['--url', url, '--key-file', key]
      const child = startChild('buyer/main.js', [...args.map((arg) => (arg === 'LIST' ? list : arg)), ...target], {})
      const [, response] = (await once(service, 'request')) as [unknown, { headersSent: boolean }]
      child.process.kill('SIGINT')
      expect(await child.ended).to.equal(1)
      expect(response.headersSent).to.equal(false)
      expect(child.stderr()).to.contain(
        name === 'lookup' ? 'Not charged. You can try again now.' : 'Interrupted. Paid: 0',
      )
      if (name === 'reconcile')
        expect(child.stderr()).to.match(/^Stopping\. .* The same command continues, [^]*^Interrupted/m)
      service.closeAllConnections()
      service.close()
    })
})
