# Installs hm for this user on Windows: fetches the archive and its checksum, compares, and unpacks hm.exe.
#   HM_INSTALL_URL  where hm-TARGET.tar.gz and hm-TARGET.tar.gz.sha256 lie
#   HM_INSTALL_DIR  where hm.exe goes (default %LOCALAPPDATA%\Programs\hm)
# Needs Windows 10 or later, which has tar.

# A function, called in the last line, so that half of this script does nothing.
function Install-Hm {
    $ErrorActionPreference = 'Stop'
    # plugin/release.sh writes the address of the release here.
    $url = ''
    if ($env:HM_INSTALL_URL) { $url = $env:HM_INSTALL_URL }
    $url = $url.TrimEnd('/')
    if (-not $url) { throw 'hm is not installed: set HM_INSTALL_URL to the address of a release' }
    $dir = Join-Path $env:LOCALAPPDATA 'Programs\hm'
    if ($env:HM_INSTALL_DIR) { $dir = $env:HM_INSTALL_DIR }
    $archive = 'hm-x86_64-pc-windows-gnu.tar.gz'
    $scratch = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
    New-Item -ItemType Directory $scratch | Out-Null
    try {
        $file = Join-Path $scratch $archive
        Invoke-WebRequest -UseBasicParsing "$url/$archive" -OutFile $file
        Invoke-WebRequest -UseBasicParsing "$url/$archive.sha256" -OutFile "$file.sha256"
        $wanted = ((Get-Content "$file.sha256" -Raw) -split '\s')[0]
        $found = (Get-FileHash -Algorithm SHA256 $file).Hash.ToLowerInvariant()
        if ($found -ne $wanted) { throw "hm is not installed: $archive has the SHA-256 $found, and not $wanted" }
        # Another tar of the search path may take the drive for a host.
        & "$env:SystemRoot\System32\tar.exe" -xzf $file -C $scratch hm.exe
        if ($LASTEXITCODE -ne 0) { throw "hm is not installed: $archive cannot be unpacked" }
        New-Item -ItemType Directory -Force $dir | Out-Null
        Move-Item -Force (Join-Path $scratch 'hm.exe') $dir
    } finally {
        Remove-Item -Recurse -Force $scratch
    }
    $hm = Join-Path $dir 'hm.exe'
    Write-Output "$(& $hm --version) is $hm"
    if (($env:PATH -split ';') -contains $dir) {
        Write-Output 'next, in a project: hm init'
    } else {
        Write-Output "add $dir to the PATH; then, in a project: hm init"
    }
}

Install-Hm
