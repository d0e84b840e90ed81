/**
 * The objects of contract 2, compared with the schemas of the OpenAPI description. support/openapi-check.ts checks
 * every answer of every test against these schemas.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Company } from '../../store/dataset/company.ts'
import { startFakedService } from '../support/faked-service.ts'
import { registerRow, toCsv } from '../support/register.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { useService } from '../support/use-service.ts'

describe('[2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.11, 2.12, 2.14, 2.16] the objects of the contract', () => {
  const { get, lookup, buy } = useService(async () => {
    const path = join(await makeTemporaryDirectory(), 'companies.csv')
    const full = registerRow({ company_num: '000073848', company_name: 'PLAIN FIXTURE LIMITED' })
    const nothing = Object.fromEntries(Object.keys(full).map((column) => [column, '']))
    const bare = { ...nothing, company_num: '1', company_name: 'BARE FIXTURE LIMITED' }
    await writeFile(path, toCsv(full, { ...registerRow(), ...bare }))
    return startFakedService({ dataset: path })
  })

  it('[4.1.1] keep leading zeros of a number, have null for a field without a value, and mark made-up data', async () => {
    const answers = []
    for (const number of ['000073848', '1', '00000000']) answers.push(await buy((payment) => lookup(number, payment)))
    const bodies = answers.map(({ json }) => json as unknown as { company: Company; source: { synthetic: boolean } })
    expect(bodies.map(({ company }) => company.company_number)).to.deep.equal(['000073848', '1', '00000000'])
    expect(bodies.map(({ source }) => source.synthetic)).to.deep.equal([false, false, true])
    const { company_number, legal_name, registered_address, ...others } = bodies[1]!.company
    expect([company_number, legal_name]).to.deep.equal(['1', 'BARE FIXTURE LIMITED'])
    expect(registered_address).to.deep.equal({ lines: [], eircode: null })
    expect(Object.values(others)).to.deep.equal(Array(14).fill(null))
  })

  it('[1.4, 9.1] are served under v1, and metadata, OpenAPI description and card state the same version', async () => {
    const meta = (await get('/api/v1/meta')).json as { version: string; endpoints: string[] }
    const description = (await get('/openapi.json')).json as { openapi: string; info: { version: string } }
    const card = (await get('/.well-known/agent-card.json')).json
    expect([meta.version, description.info.version, card['version']]).to.deep.equal(Array(3).fill('0.1.0'))
    expect(description.openapi).to.equal('3.1.0')
    for (const endpoint of meta.endpoints) expect(endpoint).to.match(/^(GET|POST) \/api\/v1\//)
    expect((await get('/docs')).text).to.contain('id="http-x402-v1"')
  })
})
