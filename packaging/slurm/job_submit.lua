-- Slurm's job_submit/lua: reads the hints a user gives in the job's comment, tells them at once what is wrong, and
-- can turn a stated bandwidth into licences. It never refuses a job and starts no process: slurmctld waits for it.
--
--   #SBATCH --comment="penstock io=2TiB compute=1h class=shared dir=/scratch/me/run"
--
-- A site that has this function in a job_submit.lua of its own calls penstock_submit(job_desc) from there.

-- Set to the name of a licence (Licenses=ost_mbps:40000 in slurm.conf) to share OST bandwidth by licences instead:
-- a job that states rate=800 then waits until 800 MB/s are free.
local LICENCE = nil

local KNOWN = { io = true, compute = true, best = true, class = true, family = true, bandwidth = true,
                measured_on = true, dir = true, rate = true }
local FAMILIES = { ascent = true, descent = true, peak = true, neutral = true }
local SIZE = "^%d+%.?%d*[kKmMgGtT]?[iI]?[bB]?$"

local function wrong(key, value)
    if not KNOWN[key] then
        return "is unknown (io, compute, best, class, family, bandwidth, measured_on, dir, rate)"
    elseif (key == "io" or key == "bandwidth") and not value:match(SIZE) then
        return "is not a size such as 2TiB"
    elseif (key == "best" or key == "measured_on" or key == "rate") and not value:match("^[1-9]%d*$") then
        return "is not a positive number"
    elseif key == "class" and value ~= "shared" and value ~= "file-per-process" then
        return "is neither shared nor file-per-process"
    elseif key == "family" and not FAMILIES[value] then
        return "is none of ascent, descent, peak and neutral"
    elseif key == "dir" and value:sub(1, 1) ~= "/" then
        return "is not an absolute path"
    end
    return nil
end

local function check(job_desc)
    local comment = job_desc.comment or ""
    local _, last = (" " .. comment .. " "):find(" penstock ", 1, true)
    if last == nil then
        return
    end
    local rest = (comment .. " "):sub(last):match("^[^;]*")
    for word in rest:gmatch("%S+") do
        local key, value = word:match("^([^=]+)=(.*)$")
        local problem = key and wrong(key, value) or (not key and "is not KEY=VALUE" or nil)
        if problem then
            slurm.log_user("penstock: the hint '%s' %s; the job runs without it", word, problem)
        elseif key == "rate" and LICENCE then
            local more = LICENCE .. ":" .. value
            job_desc.licenses = job_desc.licenses and (job_desc.licenses .. "," .. more) or more
        end
    end
end

function penstock_submit(job_desc)
    local fine, problem = pcall(check, job_desc)
    if not fine then
        slurm.log_info("penstock: %s", tostring(problem))
    end
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    penstock_submit(job_desc)
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
